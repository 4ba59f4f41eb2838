;; Float32 bits from float16 and bfloat16 codes and back, eight or sixteen at a time. They lie in the one page of
;; memory: words from byte 0 on, codes from byte 32,768 on. $count is at most 8,192; up to the next multiple of 16 are
;; converted.
;; Numbers are rounded to nearest even; a NaN keeps its sign, and else is the usual one.
(module
  (memory (export "memory") 1)

  ;; The words at $to anew where $odd says so: subnormal codes count 2^-24, and the largest exponent is that of
  ;; infinities and NaNs.
  (func $special (param $to i32) (param $code v128) (param $odd v128)
    (local $magnitude v128)
    (local.set $magnitude (v128.and (local.get $code) (i32x4.splat (i32.const 0x7fff))))
    (v128.store (local.get $to) (v128.bitselect
      (v128.or
        (i32x4.shl (v128.and (local.get $code) (i32x4.splat (i32.const 0x8000))) (i32.const 16))
        (v128.bitselect
          (f32x4.mul (f32x4.convert_i32x4_u (local.get $magnitude)) (i32x4.splat (i32.const 0x33800000)))
          (v128.or
            (i32x4.splat (i32.const 0x7f800000))
            (v128.and
              (i32x4.splat (i32.const 0x400000))
              (i32x4.gt_s (local.get $magnitude) (i32x4.splat (i32.const 0x7c00)))))
          (i32x4.lt_s (local.get $magnitude) (i32x4.splat (i32.const 0x400)))))
      (v128.load (local.get $to))
      (local.get $odd))))

  ;; Of the upper halves of the words, the exponent grows by 112, but not that of zero. Odd codes are those with the
  ;; smallest exponent or the largest: as unsigned numbers, twice the code + 0x800 < 0x1000; engines compare signed ones
  ;; in one step. The smallest of two vectors tells at once that there are none: zeros, which are rarer than other
  ;; numbers, take a second look.
  (func (export "decodeFloat16") (param $count i32)
    (local $at i32) (local $to i32) (local $end i32)
    (local $code0 v128) (local $code1 v128) (local $odd0 v128) (local $odd1 v128)
    (local $twice0 v128) (local $twice1 v128) (local $low v128) (local $high v128)
    (local.set $end (i32.shl (local.get $count) (i32.const 1)))
    (loop $next
      (local.set $code0 (v128.load offset=32768 (local.get $at)))
      (local.set $twice0 (i16x8.add (local.get $code0) (local.get $code0)))
      (local.set $high (i16x8.add
        (v128.and (i16x8.shr_s (local.get $code0) (i32.const 3)) (i16x8.splat (i32.const 0x8fff)))
        (v128.andnot (i16x8.splat (i32.const 0x3800)) (i16x8.eq (local.get $twice0) (i16x8.splat (i32.const 0x0))))))
      (local.set $low (i16x8.shl (local.get $code0) (i32.const 13)))
      (v128.store (local.get $to)
        (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $low) (local.get $high)))
      (v128.store offset=16 (local.get $to)
        (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $low) (local.get $high)))
      (local.set $twice0 (i16x8.add (local.get $twice0) (i16x8.splat (i32.const 0x8800))))
      (local.set $code1 (v128.load offset=32784 (local.get $at)))
      (local.set $twice1 (i16x8.add (local.get $code1) (local.get $code1)))
      (local.set $high (i16x8.add
        (v128.and (i16x8.shr_s (local.get $code1) (i32.const 3)) (i16x8.splat (i32.const 0x8fff)))
        (v128.andnot (i16x8.splat (i32.const 0x3800)) (i16x8.eq (local.get $twice1) (i16x8.splat (i32.const 0x0))))))
      (local.set $low (i16x8.shl (local.get $code1) (i32.const 13)))
      (v128.store offset=32 (local.get $to)
        (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $low) (local.get $high)))
      (v128.store offset=48 (local.get $to)
        (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $low) (local.get $high)))
      (local.set $twice1 (i16x8.add (local.get $twice1) (i16x8.splat (i32.const 0x8800))))
      (if (v128.any_true (i16x8.lt_s
        (i16x8.min_s (local.get $twice0) (local.get $twice1))
        (i16x8.splat (i32.const 0x9000)))) (then
        (local.set $odd0 (v128.andnot
          (i16x8.lt_s (local.get $twice0) (i16x8.splat (i32.const 0x9000)))
          (i16x8.eq (local.get $twice0) (i16x8.splat (i32.const 0x8800)))))
        (local.set $odd1 (v128.andnot
          (i16x8.lt_s (local.get $twice1) (i16x8.splat (i32.const 0x9000)))
          (i16x8.eq (local.get $twice1) (i16x8.splat (i32.const 0x8800)))))
        (if (v128.any_true (v128.or (local.get $odd0) (local.get $odd1))) (then
          (call $special (local.get $to)
            (i32x4.extend_low_i16x8_u (local.get $code0))
            (i32x4.extend_low_i16x8_s (local.get $odd0)))
          (call $special (i32.add (local.get $to) (i32.const 16))
            (i32x4.extend_high_i16x8_u (local.get $code0))
            (i32x4.extend_high_i16x8_s (local.get $odd0)))
          (call $special (i32.add (local.get $to) (i32.const 32))
            (i32x4.extend_low_i16x8_u (local.get $code1))
            (i32x4.extend_low_i16x8_s (local.get $odd1)))
          (call $special (i32.add (local.get $to) (i32.const 48))
            (i32x4.extend_high_i16x8_u (local.get $code1))
            (i32x4.extend_high_i16x8_s (local.get $odd1)))))))
      (local.set $to (i32.add (local.get $to) (i32.const 64)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 32))) (local.get $end)))))

  (func (export "decodeBfloat16") (param $count i32)
    (local $at i32) (local $end i32) (local $low v128) (local $high v128)
    (local.set $end (i32.shl (local.get $count) (i32.const 1)))
    (loop $next
      (local.set $high (v128.load offset=32768 (local.get $at)))
      (v128.store (i32.shl (local.get $at) (i32.const 1))
        (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $low) (local.get $high)))
      (v128.store offset=16 (i32.shl (local.get $at) (i32.const 1))
        (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $low) (local.get $high)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end)))))

  ;; What is below 2^-14, added to a half, is rounded to multiples of 2^-24; of the rest, the exponent shrinks by
  ;; 112, and what then is past the largest number becomes infinity.
  (func (export "encodeFloat16") (param $count i32)
    (local $at i32) (local $end i32) (local $bits0 v128) (local $bits1 v128) (local $size0 v128) (local $size1 v128)
    (local.set $end (i32.shl (local.get $count) (i32.const 1)))
    (loop $next
      (local.set $bits0 (v128.load (i32.shl (local.get $at) (i32.const 1))))
      (local.set $bits1 (v128.load offset=16 (i32.shl (local.get $at) (i32.const 1))))
      (local.set $size0 (v128.and (local.get $bits0) (i32x4.splat (i32.const 0x7fffffff))))
      (local.set $size1 (v128.and (local.get $bits1) (i32x4.splat (i32.const 0x7fffffff))))
      (v128.store offset=32768 (local.get $at)
        (i16x8.narrow_i32x4_u
          (v128.or
            (v128.and (i32x4.shr_u (local.get $bits0) (i32.const 16)) (i32x4.splat (i32.const 0x8000)))
            (v128.bitselect
              (i32x4.sub
                (f32x4.add (local.get $size0) (i32x4.splat (i32.const 0x3f000000)))
                (i32x4.splat (i32.const 0x3f000000)))
              (v128.or
                (i32x4.min_u
                  (i32x4.shr_u
                    (i32x4.add
                      (i32x4.sub (local.get $size0) (i32x4.splat (i32.const 0x37fff001)))
                      (v128.and (i32x4.shr_u (local.get $size0) (i32.const 13)) (i32x4.splat (i32.const 0x1))))
                    (i32.const 13))
                  (i32x4.splat (i32.const 0x7c00)))
                (v128.and
                  (i32x4.gt_s (local.get $size0) (i32x4.splat (i32.const 0x7f800000)))
                  (i32x4.splat (i32.const 0x200))))
              (i32x4.lt_s (local.get $size0) (i32x4.splat (i32.const 0x38800000)))))
          (v128.or
            (v128.and (i32x4.shr_u (local.get $bits1) (i32.const 16)) (i32x4.splat (i32.const 0x8000)))
            (v128.bitselect
              (i32x4.sub
                (f32x4.add (local.get $size1) (i32x4.splat (i32.const 0x3f000000)))
                (i32x4.splat (i32.const 0x3f000000)))
              (v128.or
                (i32x4.min_u
                  (i32x4.shr_u
                    (i32x4.add
                      (i32x4.sub (local.get $size1) (i32x4.splat (i32.const 0x37fff001)))
                      (v128.and (i32x4.shr_u (local.get $size1) (i32.const 13)) (i32x4.splat (i32.const 0x1))))
                    (i32.const 13))
                  (i32x4.splat (i32.const 0x7c00)))
                (v128.and
                  (i32x4.gt_s (local.get $size1) (i32x4.splat (i32.const 0x7f800000)))
                  (i32x4.splat (i32.const 0x200))))
              (i32x4.lt_s (local.get $size1) (i32x4.splat (i32.const 0x38800000)))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end)))))

  (func (export "encodeBfloat16") (param $count i32)
    (local $at i32) (local $end i32) (local $bits0 v128) (local $bits1 v128) (local $size0 v128) (local $size1 v128)
    (local.set $end (i32.shl (local.get $count) (i32.const 1)))
    (loop $next
      (local.set $bits0 (v128.load (i32.shl (local.get $at) (i32.const 1))))
      (local.set $bits1 (v128.load offset=16 (i32.shl (local.get $at) (i32.const 1))))
      (local.set $size0 (v128.and (local.get $bits0) (i32x4.splat (i32.const 0x7fffffff))))
      (local.set $size1 (v128.and (local.get $bits1) (i32x4.splat (i32.const 0x7fffffff))))
      (v128.store offset=32768 (local.get $at)
        (i16x8.narrow_i32x4_u
          (v128.bitselect
            (v128.or
              (v128.and (i32x4.shr_u (local.get $bits0) (i32.const 16)) (i32x4.splat (i32.const 0x8000)))
              (i32x4.splat (i32.const 0x7fc0)))
            (i32x4.shr_u
              (i32x4.add
                (i32x4.add (local.get $bits0) (i32x4.splat (i32.const 0x7fff)))
                (v128.and (i32x4.shr_u (local.get $bits0) (i32.const 16)) (i32x4.splat (i32.const 0x1))))
              (i32.const 16))
            (i32x4.gt_s (local.get $size0) (i32x4.splat (i32.const 0x7f800000))))
          (v128.bitselect
            (v128.or
              (v128.and (i32x4.shr_u (local.get $bits1) (i32.const 16)) (i32x4.splat (i32.const 0x8000)))
              (i32x4.splat (i32.const 0x7fc0)))
            (i32x4.shr_u
              (i32x4.add
                (i32x4.add (local.get $bits1) (i32x4.splat (i32.const 0x7fff)))
                (v128.and (i32x4.shr_u (local.get $bits1) (i32.const 16)) (i32x4.splat (i32.const 0x1))))
              (i32.const 16))
            (i32x4.gt_s (local.get $size1) (i32x4.splat (i32.const 0x7f800000))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))))
