import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

// Certificates made on the spot, just whole enough for TLS: P-256 keys, one authority, leaves with names. DER by hand.

export interface Certified {
  readonly cert: string;
  readonly key: string;
}

export interface LeafOptions {
  readonly commonName: string;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  readonly expired?: boolean;
}

const DAY = 86_400_000;

/** An authority, and what it signs. */
export class Authority {
  readonly ca: string;
  readonly #key: KeyObject;
  readonly #name: string;

  constructor(name = "llmgw test authority") {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#key = privateKey;
    this.#name = name;
    const basicConstraints = extension("551d13", sequence(Buffer.from([0x01, 0x01, 0xff])));
    this.ca = this.#certificate({ commonName: name, extensions: [basicConstraints], publicKey });
  }

  issue({ commonName, dns = [], ips = [], expired = false }: LeafOptions): Certified {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = [
      ...dns.map((name) => der(0x82, Buffer.from(name))),
      ...ips.map((ip) => der(0x87, Buffer.from(ip.split(".").map(Number)))),
    ];
    const extensions = names.length === 0 ? [] : [extension("551d11", sequence(...names))];
    return {
      cert: this.#certificate({ commonName, extensions, publicKey, expired }),
      key: privateKey.export({ type: "pkcs8", format: "pem" }),
    };
  }

  #certificate(of: {
    readonly commonName: string;
    readonly extensions: readonly Buffer[];
    readonly publicKey: KeyObject;
    readonly expired?: boolean;
  }): string {
    const now = Date.now();
    const [from, to] = of.expired === true ? [now - 20 * DAY, now - 10 * DAY] : [now - DAY, now + 10 * DAY];
    const body = sequence(
      der(0xa0, integer(Buffer.from([2]))),
      integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ECDSA_SHA256,
      nameOf(this.#name),
      sequence(time(from), time(to)),
      nameOf(of.commonName),
      of.publicKey.export({ type: "spki", format: "der" }),
      ...(of.extensions.length === 0 ? [] : [der(0xa3, sequence(...of.extensions))]),
    );
    const signature = sign("sha256", body, this.#key);
    const whole = sequence(body, ECDSA_SHA256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
    const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
  }
}

function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const size = body.length;
  const head = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), body]);
}

const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items);
const integer = (value: Buffer): Buffer => der(0x02, value);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const extension = (id: string, value: Buffer): Buffer => sequence(objectId(id), der(0x04, value));
const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from(commonName)))));
const time = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`));
/** 1.2.840.10045.4.3.2 */
const ECDSA_SHA256 = sequence(objectId("2a8648ce3d040302"));
