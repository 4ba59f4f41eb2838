/** SHA-256 of what ml_dtypes and NumPy make of every pattern; `interop` checks them against the live ones. */
export const hashes = {
  float16: {
    decoded: "ace258bc1879e9180ecf63aa1c93a37850c018bad062cc7a98c42232c72204b6",
    encoded: "5563e2e8bae3bbcc13450f4109efc0e6ece6a5d8fec957e7735ef63ca56cb105",
  },
  bfloat16: {
    decoded: "8bb016c6c31eda0d67b26719b0c506aa7ff16176fff90579b3594eb6f8b3f178",
    encoded: "360901b7b72e08ef77b40bbe362957adc843be9fdf5dc1c3a54036f9dccccadb",
  },
  float8_e4m3fn: {
    decoded: "fbfd40716d3eddc590ca82a86c34208d486f88eb69e6a04dbfc62b158dec4d2f",
    encoded: "7608eec0c593b039ede870773a1cc6dab25dbb6bfa40f6f7da8049edf6380ab2",
  },
  float8_e5m2: {
    decoded: "e119e01810d2e0b12e435d3b12fc0a09a0d185442237494c1731ed1aedd7e4b5",
    encoded: "7b6eee60f7ca312b483cdcab2622051ad34f72dfad5cf7f77763c29d9ca27290",
  },
  float8_e8m0fnu: {
    decoded: "2fb2732a956043772ccd2c1664ae5d2558c62f9c06780c04d95f1ff0050f2f2f",
    encoded: "7d2e3fe47775826229f9ce4c1b92afecd4fe2a06344fa3700f81009196e33159",
  },
  float8_e4m3fnuz: {
    decoded: "0a964337a9090599d0049c863a5cc7a8e19ba4205f84a79575c265343c8be1c7",
    encoded: "320570d14527ac9f4aa563298dd890ad878e5c01208a5cbd9bfa827b37c76725",
  },
  float8_e5m2fnuz: {
    decoded: "ef71f572c52efd5516a126c023b5bf2779f8bdf1c949ff51e4f30af350da70a4",
    encoded: "deca950103b0955c10788f797ada887646d052534d64ca1286f139cea54f6671",
  },
  float4_e2m1fn: {
    decoded: "c736c7e2e761e08975d601fab3563265be14d8df46628e596c0989b97735b5f5",
    encoded: "909adf681d4657bd69198e58e7e31addd6bd07acedc6b85727b50ca751292fbe",
  },
} as const;
