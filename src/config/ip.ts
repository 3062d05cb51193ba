/** What an IP address is good for. */
export type IpScope = "loopback" | "link-local" | "unspecified" | "multicast" | "usable";

/** Undefined: the text is no IP address (host names are none). A zone such as %eth0 is not taken. */
export function ipScope(text: string): IpScope | undefined {
  if (text.includes(":")) return ipv6Scope(text);
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return ipv4Scope(parts.map(Number));
}

function ipv4Scope([first = 0, second = 0]: readonly number[]): IpScope {
  if (first === 0) return "unspecified";
  if (first === 127) return "loopback";
  if (first === 169 && second === 254) return "link-local";
  // 224/4 is multicast, 240/4 reserved with the broadcast address in it: no host has either.
  return first >= 224 ? "multicast" : "usable";
}

function ipv6Scope(text: string): IpScope | undefined {
  if (!/^[0-9a-fA-F:.]+$/.test(text) || !URL.canParse(`http://[${text}]/`)) return undefined;
  const plain = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  if (plain === "::") return "unspecified";
  if (plain === "::1") return "loopback";
  const [, mapped] = /^::ffff:([0-9a-f]{1,4}):[0-9a-f]{1,4}$/.exec(plain) ?? [];
  if (mapped !== undefined) return ipv4Scope(twoBytes(Number.parseInt(mapped, 16)));
  const first = Number.parseInt(`0${plain}`, 16);
  if ((first & 0xffc0) === 0xfe80) return "link-local";
  return first >= 0xff00 ? "multicast" : "usable";
}

const twoBytes = (word: number): readonly number[] => [word >> 8, word & 255];

/** Whether only this machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || ipScope(host) === "loopback";
}
