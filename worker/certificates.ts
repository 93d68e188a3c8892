/**
 * Requests and renews certificates (src/certificates). Every worker runs this, and one of them at a time requests. The
 * client library is loaded at the first certificate that is due: most workers never need it.
 */
import { findDue, reportTrackingNames } from '#src/certificates/certificate-store.ts'
import { isAutomatic, servesTrackingNames } from '#src/certificates/needed-names.ts'
import type { Context } from '#src/context.ts'
import { trackingNameOf } from '#src/domains/records.ts'
import type { Round } from './loop.ts'

/** How often new tracking names are looked for. */
const NAMES_MS = 15_000

export function createCertificateRound(ctx: Context): Round {
  let namesAtMs = -Infinity
  return async () => {
    if (!isAutomatic(ctx.config)) return false
    if (servesTrackingNames(ctx.config) && performance.now() - namesAtMs > NAMES_MS) {
      await reportTrackingNames(ctx.db, trackingNameOf(''))
      namesAtMs = performance.now()
    }
    if ((await findDue(ctx.db)) === null) return false
    const { requestDueCertificate } = await import('#src/certificates/request-round.ts')
    return requestDueCertificate(ctx)
  }
}
