/**
 * The certificates of one use that this process serves. They are read from PostgreSQL at the start, and again when it
 * announces a change, so a renewed certificate is used from the next connection on. PostgreSQL away, or a certificate
 * that cannot be decrypted or does not fit its key: what was read before stays in use, and the log gives the reason.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { listenForNotifications } from '#src/auth/notification-listener.ts'
import { createCoalescedRefresh } from '#src/concurrency/coalesced-refresh.ts'
import type { Context } from '#src/context.ts'
import { readIssued, reportNeeded, type ServedCertificate } from './certificate-store.ts'
import type { NeededCertificate } from './needed-names.ts'

const CHANNEL = 'mailstead_certificates'
/** How often a process reports that it still needs its certificates. */
const REPORT_MS = 3_600_000
/** A commit may be this much later than the time that it stored. */
const OVERLAP_MS = 300_000

interface Loaded extends ServedCertificate {
  readonly context: SecureContext
}

export interface ServedCertificates {
  /** Resolves after the first try to read them. */
  readonly loaded: Promise<void>
  /** The certificate of a host name; null if there is none. */
  find(name: string): Loaded | null
  stop(): Promise<void>
}

type ServingContext = Pick<Context, 'config' | 'db' | 'encryption' | 'log'>

export interface ServingOptions {
  /** What this process needs by its settings, at least one. */
  readonly needed: readonly NeededCertificate[]
  /** Whether others of the same use are served too, such as those of customers' names. */
  readonly servesAll: boolean
  /** Called with each certificate that is new or was renewed. */
  readonly onChange?: (certificate: ServedCertificate) => void
}

export function serveCertificates(
  ctx: ServingContext,
  { needed, servesAll, onChange = () => undefined }: ServingOptions,
): ServedCertificates {
  const [first] = needed
  if (first === undefined) throw new Error('no certificate is needed')
  const served = new Map<string, Loaded>()
  let latest: Date | null = null

  async function load(): Promise<void> {
    const since = latest === null ? null : new Date(latest.getTime() - OVERLAP_MS)
    const found = await readIssued(ctx, first?.use ?? 'web', {
      since,
      ...(servesAll ? {} : { name: first?.name ?? '' }),
    })
    for (const certificate of found) {
      if (latest === null || certificate.issuedAt > latest) latest = certificate.issuedAt
      if (served.get(certificate.name)?.chain !== certificate.chain) use(certificate)
    }
  }

  function use(certificate: ServedCertificate): void {
    const { name, chain, privateKey, expiresAt } = certificate
    try {
      served.set(name, { ...certificate, context: createSecureContext({ cert: chain, key: privateKey }) })
    } catch (error) {
      return ctx.log.error(
        { err: error, certificate: name },
        'a stored certificate cannot be used; the previous one is',
      )
    }
    ctx.log.info({ certificate: name, expires: expiresAt }, 'a certificate is in use')
    onChange(certificate)
  }

  const refresh = createCoalescedRefresh(load, (error) =>
    ctx.log.warn({ err: error }, 'failed to read certificates; those in use stay in use'),
  )
  const report = (): void => {
    reportNeeded(ctx.db, needed, 'settings').catch((error: unknown) =>
      ctx.log.warn({ err: error }, 'failed to report the certificates that are needed; it is repeated'),
    )
  }
  // also after PostgreSQL was away at the start
  const onNotified = (): void => void refresh.refresh().then(report)
  const { databaseUrl } = ctx.config
  const listener =
    databaseUrl === null
      ? null
      : listenForNotifications({ url: databaseUrl, channel: CHANNEL, log: ctx.log, onChange: onNotified })
  const timer = setInterval(report, REPORT_MS).unref()
  return {
    loaded: refresh.refresh(),
    find: (name) => served.get(name.toLowerCase()) ?? null,
    stop: async () => {
      clearInterval(timer)
      await listener?.stop()
      await refresh.settled()
    },
  }
}
