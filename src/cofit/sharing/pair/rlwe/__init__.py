"""Products of one party's matrix with the other's masks, by RLWE encryption that is additively homomorphic."""
