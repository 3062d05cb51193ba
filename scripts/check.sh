# `npm test`: everything that must hold, the quick things first.
set -e
run() { echo; echo "== $1"; shift; sh scripts/on-node.sh "$@"; }
run "format" node_modules/prettier/bin/prettier.cjs --check --log-level warn .
run "types" node_modules/typescript/bin/tsc -p .
run "lint" node_modules/eslint/bin/eslint.js --max-warnings 0 .
run "dead exports" node_modules/knip/bin/knip.js
run "unit, contract and end-to-end tests" node_modules/vitest/vitest.mjs run
