/**
 * A PCI address as the kernel writes it: 4 digits of domain (more where the domain is greater), lower case. NVML and nvidia-smi
 * write 8 digits, upper case. "" for anything else.
 */
export function pciAddress(text: string): string {
  const match = /^0*([0-9a-f]{1,8}):([0-9a-f]{2}):([0-9a-f]{2})(\.[0-7])?$/i.exec(text.trim());
  if (match === null) return "";
  const [, domain = "", bus = "", device = "", fn = ".0"] = match;
  return `${domain.padStart(4, "0")}:${bus}:${device}${fn}`.toLowerCase();
}

/** What a kernel file calls numa_node: -1 stands for a firmware that does not say. */
export function numaNodeIn(text: string | undefined): number | undefined {
  const digits = /^\s*(\d{1,4})\s*$/.exec(text ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
