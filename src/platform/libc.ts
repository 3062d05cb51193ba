/** The version of this system's GNU libc, such as "2.36"; undefined where there is none (musl, macOS). */
export function glibcVersion(): string | undefined {
  // Without this the report looks up the name of every address that the process talks to.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}
