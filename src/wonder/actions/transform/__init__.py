"""`transform`: computes in TypeScript, without a clock, chance or anything outside."""
