/** The package that brings a library, by family of distributions. */
export interface LibraryPackages {
  readonly apt: string;
  readonly dnf: string;
  readonly zypper: string;
  readonly apk: string;
}

const PACKAGES: Readonly<Record<string, LibraryPackages>> = {
  "libgomp.so.1": { apt: "libgomp1", dnf: "libgomp", zypper: "libgomp1", apk: "libgomp" },
  "libssl.so.3": { apt: "libssl3", dnf: "openssl-libs", zypper: "libopenssl3", apk: "libssl3" },
  "libcrypto.so.3": { apt: "libssl3", dnf: "openssl-libs", zypper: "libopenssl3", apk: "libcrypto3" },
  "libstdc++.so.6": { apt: "libstdc++6", dnf: "libstdc++", zypper: "libstdc++6", apk: "libstdc++" },
  "libgcc_s.so.1": { apt: "libgcc-s1", dnf: "libgcc", zypper: "libgcc_s1", apk: "libgcc" },
  "libvulkan.so.1": { apt: "libvulkan1", dnf: "vulkan-loader", zypper: "libvulkan1", apk: "vulkan-loader" },
  "libcurl.so.4": { apt: "libcurl4", dnf: "libcurl", zypper: "libcurl4", apk: "libcurl" },
};

/** The driver brings these, and only the one that fits the kernel's module works: no package is a substitute. */
const OF_THE_DRIVER = /^lib(cuda|nvidia-[a-z-]+|nvcuvid)\.so/;
/** The CUDA runtime is in an archive of its own beside the build. */
const OF_CUDA = /^lib(cudart|cublas|cublasLt|nccl|cufft|curand|nvrtc)\.so/;

export interface MissingLibrary {
  readonly library: string;
  /** Undefined: no package is known to bring it. */
  readonly packages: LibraryPackages | undefined;
  readonly reason: string;
}

/** The first library that a dynamic loader says it cannot find, in its own message or in the output of ldd. */
export function missingLibrary(output: string): MissingLibrary | undefined {
  const loader = /error while loading shared libraries: ([^\s:]+): cannot open shared object file/.exec(output);
  const ldd = /^\s*(\S+) => not found$/m.exec(output);
  // musl's loader, which is Alpine's.
  const musl = /Error loading shared library ([^\s:]+): No such file/.exec(output);
  const library = loader?.[1] ?? ldd?.[1] ?? musl?.[1];
  if (library === undefined) return undefined;
  const packages = PACKAGES[library];
  return { library, packages, reason: `missing library ${library}: ${adviceOf(library, packages)}` };
}

function adviceOf(library: string, packages: LibraryPackages | undefined): string {
  if (OF_THE_DRIVER.test(library)) return "install the NVIDIA driver; it comes with no other package";
  if (OF_CUDA.test(library)) return "the CUDA runtime's archive belongs beside this build";
  if (packages === undefined) return "install the package of this system that brings it";
  const { apt, dnf } = packages;
  return apt === dnf ? `install the package ${apt}` : `install the package ${apt} (${dnf} where dnf is used)`;
}
