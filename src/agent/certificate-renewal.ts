import { messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { writeFileAtomic } from "../platform/files.ts";
import type { Logger } from "../platform/logger.ts";
import { factsOf, inWords } from "../pki/certificate.ts";
import { mayReplace, renewalDue } from "../pki/due.ts";
import type { FollowedTls } from "../pki/follow.ts";
import { blocksOf, readCertificates } from "../pki/pem.ts";

const LOOK_EVERY = millis(1000);
/** After a no, or no answer: a control plane without the authority's key says the same each time. */
const ASK_AGAIN_AFTER = millis(60 * 60_000);

interface RenewalOptions {
  readonly tls: Pick<FollowedTls, "current">;
  /** The certificate's file, written over when there is a new one; the key stays. */
  readonly path: string;
  /** Asks the control plane. False: there is no connection. */
  readonly ask: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Gets a new certificate over the agent's own stream when the present one has a third of its life left. */
export class CertificateRenewal {
  readonly #options: RenewalOptions;
  #askAgainAt = millis(0);
  #cancel: () => void = () => undefined;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#look();
  }

  close(): void {
    this.#cancel();
  }

  /** The control plane's answer: a certificate in PEM, or why there is none. */
  async answered(pem: string, error: string): Promise<void> {
    const { tls, path, logger } = this.#options;
    const before = tls.current.certificate;
    const until = inWords(factsOf(before).notAfter);
    if (error !== "") {
      logger.warn(`the certificate ends at ${until}, and the control plane does not renew it: ${error}`);
      return;
    }
    const read = readCertificates(pem);
    if (!read.ok || !mayReplace(read.value[0], before)) {
      logger.error("the control plane sent a certificate that is not this node's; the one before stays");
      return;
    }
    // Authorities in between stand after the certificate, and stay.
    const rest = blocksOf(tls.current.cert).slice(1);
    try {
      await writeFileAtomic(path, [pem.trimEnd(), ...rest.map(({ text }) => text), ""].join("\n"));
    } catch (failure) {
      logger.error(`the new certificate cannot be written to ${path}: ${messageOf(failure)}`);
      return;
    }
    logger.info(`the certificate was renewed: the one before ends at ${until}`);
  }

  #look(): void {
    const { tls, ask, clock } = this.#options;
    const isDue = clock.now() >= renewalDue(tls.current.certificate);
    if (isDue && clock.monotonic() >= this.#askAgainAt && ask()) {
      this.#askAgainAt = millis(clock.monotonic() + ASK_AGAIN_AFTER);
    }
    this.#cancel = clock.after(LOOK_EVERY, () => {
      this.#look();
    });
  }
}
