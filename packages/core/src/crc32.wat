;; CRC-32 by a sparse multiple of its polynomial P: x^300 + x^155 + x^117 + x^89 + 1. With x^128 for x it is one too, and
;; adding it at a word of 16 bytes makes that word zero: the word is added to those 145, 183, 211 and 300 further on.
;; So each word becomes its sum with those that far before it; no word is multiplied. The 300 words before the data
;; lie at byte 0, the data from byte 4,800 on.
(module
  (memory (export "memory") 1)

  ;; Takes $length bytes, a multiple of 64, into account; the last 300 words go to byte 0.
  (func (export "fold") (param $length i32)
    (local $at i32)
    (loop $next
      (v128.store offset=4800 (local.get $at)
        (v128.xor (v128.xor (v128.xor (v128.xor
          (v128.load offset=4800 (local.get $at))
          (v128.load offset=0 (local.get $at)))
          (v128.load offset=2480 (local.get $at)))
          (v128.load offset=1872 (local.get $at)))
          (v128.load offset=1424 (local.get $at))))
      (v128.store offset=4816 (local.get $at)
        (v128.xor (v128.xor (v128.xor (v128.xor
          (v128.load offset=4816 (local.get $at))
          (v128.load offset=16 (local.get $at)))
          (v128.load offset=2496 (local.get $at)))
          (v128.load offset=1888 (local.get $at)))
          (v128.load offset=1440 (local.get $at))))
      (v128.store offset=4832 (local.get $at)
        (v128.xor (v128.xor (v128.xor (v128.xor
          (v128.load offset=4832 (local.get $at))
          (v128.load offset=32 (local.get $at)))
          (v128.load offset=2512 (local.get $at)))
          (v128.load offset=1904 (local.get $at)))
          (v128.load offset=1456 (local.get $at))))
      (v128.store offset=4848 (local.get $at)
        (v128.xor (v128.xor (v128.xor (v128.xor
          (v128.load offset=4848 (local.get $at))
          (v128.load offset=48 (local.get $at)))
          (v128.load offset=2528 (local.get $at)))
          (v128.load offset=1920 (local.get $at)))
          (v128.load offset=1472 (local.get $at))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $length))))
    (memory.copy (i32.const 0) (local.get $length) (i32.const 4800)))

  ;; Adds to the first words of the data those $distance bytes before them, which lie before the data.
  (func $add (param $distance i32)
    (local $at i32)
    (loop $next
      (v128.store offset=4800 (local.get $at)
        (v128.xor
          (v128.load offset=4800 (local.get $at))
          (v128.load (i32.sub (i32.add (local.get $at) (i32.const 4800)) (local.get $distance)))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $distance)))))

  ;; Moves all of what lies before the data into the first 300 words of the data, whose sum then is that of everything.
  (func (export "finish")
    (call $add (i32.const 2320))
    (call $add (i32.const 2928))
    (call $add (i32.const 3376))
    (call $add (i32.const 4800))))
