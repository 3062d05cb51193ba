import { expect, test } from "vitest";
import { readUris } from "./apt.ts";

test("packages and their sizes in what apt would fetch", () => {
  const output = `Reading package lists...
The following NEW packages will be installed:
  libstdc++6 llama.cpp-tools
After this operation, 79.4 MB of additional disk space will be used.
'http://deb.debian.org/debian/pool/main/g/gcc-16/libstdc%2b%2b6_16.2.0-3_amd64.deb' libstdc++6_16.2.0-3_amd64.deb 823236 MD5Sum:0cf5
'http://deb.debian.org/debian/pool/main/l/llama.cpp/llama.cpp-tools_0.7.0%2bdfsg-2_amd64.deb' llama.cpp-tools_1%3a0.7.0+dfsg-2_amd64.deb 1642656 MD5Sum:97a8
`;
  expect(readUris(output)).toEqual([
    { name: "libstdc++6", bytes: 823_236 },
    { name: "llama.cpp-tools", bytes: 1_642_656 },
  ]);
  expect(readUris("E: Unable to locate package")).toEqual([]);
});
