import fc from "fast-check";
import { expect, test } from "vitest";
import { explainUv } from "./uv-words.ts";

const [A, B] = ["a".repeat(64), "b".repeat(64)];

/** What uv 0.13 wrote in each case. */
test.each([
  {
    name: "an index without the version",
    stderr: `error: No solution found when resolving dependencies
  cause: Because there is no version of vllm==9.9 and you require vllm==9.9, we can conclude that your requirements are unsatisfiable.
`,
    kind: "not-found",
    message:
      "No solution found when resolving dependencies: Because there is no version of vllm==9.9 and you require vllm==9.9, we can conclude that your requirements are unsatisfiable.",
  },
  {
    name: "a package that the index does not have",
    stderr: `error: No solution found when resolving dependencies
  cause: Because nosuch was not found in the package registry and you require nosuch==1, we can conclude that your requirements are unsatisfiable.
`,
    kind: "not-found",
    message: "nosuch was not found in the package registry",
  },
  {
    name: "an index that nobody answers for",
    stderr: `error: Request failed after 3 retries in 13.2s
  cause: Failed to fetch: http://127.0.0.1:9/simple/vllm/
  cause: error sending request for url (http://127.0.0.1:9/simple/vllm/)
  cause: client error (Connect)
  cause: tcp connect error
  cause: Connection refused (os error 111)
`,
    kind: "unreachable",
    message: "http://127.0.0.1:9/simple/vllm/ cannot be had: Connection refused (os error 111)",
  },
  {
    name: "PyTorch's own index out of reach",
    stderr: `error: Request failed after 3 retries in 6.5s
  cause: Failed to fetch: https://download.pytorch.org/whl/cu129/torchcodec/
  cause: error sending request for url (https://download.pytorch.org/whl/cu129/torchcodec/)
  cause: client error (Connect)
  cause: dns error
  cause: error resolving DNS
  cause: failed to lookup address information: Name or service not known
`,
    kind: "unreachable",
    message: "https://download.pytorch.org/whl/cu129/torchcodec/ cannot be had: Name or service not known",
  },
  {
    name: "wheels for other machines only",
    stderr: `error: No solution found when resolving dependencies
  cause: Because sgl-kernel==0.3.21 has no wheels with a matching platform tag (e.g., \`musllinux_1_2_aarch64\`) and sglang==0.5.9 depends on sgl-kernel==0.3.21, we can conclude that sglang==0.5.9 cannot be used.
         And because you require sglang==0.5.9, we can conclude that your requirements are unsatisfiable.

hint: Wheels are available for \`sgl-kernel\` (v0.3.21) on the following platforms: \`manylinux2014_aarch64\`, \`manylinux2014_x86_64\`
`,
    kind: "no-build",
    message: "sgl-kernel==0.3.21 has no wheels with a matching platform tag",
  },
  {
    name: "no Python that fits, and none to be fetched",
    stderr: `error: No interpreter found for Python >=3.14 in managed installations or search path

hint: A managed Python download is available for Python >=3.14, but Python downloads are set to 'never'
`,
    kind: "missing-tool",
    message: "No interpreter found for Python >=3.14 in managed installations or search path",
  },
  {
    name: "a Python that GitHub has and that cannot be fetched",
    stderr: `error: Request failed after 3 retries in 6.2s
  cause: Failed to download \`https://github.com/astral-sh/python-build-standalone/releases/download/20261110/cpython-3.12.16%2B20261110-x86_64-unknown-linux-gnu-install_only_stripped.tar.gz\`
  cause: dns error
`,
    kind: "missing-tool",
    message: "no Python that fits is on this machine, and none can be fetched from GitHub",
  },
  {
    name: "wrong bytes",
    stderr: `Using Python 3.11.7 environment at: v1
Resolved 1 package in 2ms
error: Failed to download \`markupsafe==3.0.4\`
  cause: Hash mismatch for \`markupsafe==3.0.4\`

         Expected:
           sha256:${A}

         Computed:
           sha256:${B}
`,
    kind: "checksum",
    message: `markupsafe==3.0.4 does not have the right bytes: its sha256 is ${B}, ${A} is right`,
  },
  {
    name: "a full disk",
    stderr: `error: Failed to install: numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl (numpy==2.4.6)
  cause: Failed to copy to \`/tmp/v/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-32a4b2a6.so\`
  cause: failed to copy file from /tmp/c/a.so to /tmp/v/.tmplgYiHS: No space left on device (os error 28)
`,
    kind: "no-space",
    message: "the disk became full while the packages were unpacked",
  },
  {
    name: "an index that wants a login",
    stderr: `error: No solution found when resolving dependencies
  cause: Because aaa was not found in the package registry and you require aaa, we can conclude that your requirements are unsatisfiable.

hint: An index URL (http://127.0.0.1:18998/simple) could not be queried due to a lack of valid authentication credentials (401 Unauthorized)
`,
    kind: "refused",
    message: "http://127.0.0.1:18998/simple answered 401 Unauthorized",
  },
  {
    name: "an index that is ill",
    stderr: `error: Request failed after 3 retries in 9.3s
  cause: Failed to fetch: http://127.0.0.1:18998/simple/bbb/
  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:18998/simple/bbb/)
`,
    kind: "unreachable",
    message: "http://127.0.0.1:18998/simple/bbb/ cannot be had: HTTP status server error (503 Service Unavailable)",
  },
  { name: "nothing at all", stderr: "", kind: "does-not-run", message: "uv failed: it said nothing" },
])("$name", ({ stderr, kind, message }) => {
  const failure = explainUv(stderr);
  expect(failure.kind).toBe(kind);
  expect(failure.message).toContain(message);
  expect(failure.message).not.toContain("hint:");
});

test("whatever it says, the answer is one line that is not too long", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 4000 }), (stderr) => {
      const { message } = explainUv(stderr);
      expect(message.length).toBeLessThan(1000);
    }),
  );
});
