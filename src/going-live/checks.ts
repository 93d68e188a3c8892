/**
 * What an installation with MODE=live needs before strangers get its mail, one row each. A failed row of `holds`
 * holds campaigns back (campaign-hold.ts); one-time codes and other single messages are sent all the same, because
 * someone waits for them. Nothing is changed. A query that gets no answer is `unknown`, and holds nothing.
 */
import type { Config } from '#config/load.ts'
import type { Clock } from '#src/platform/clock.ts'
import { createCheckDeps, type CheckDeps } from '#src/egress/source-checks.ts'
import type { CertificateStatus } from '#src/certificates/certificate-store.ts'
import { checkRequestedCertificates, checkSmtpCertificate, checkWebCertificates } from './certificates.ts'
import { checkBounceMx, checkBounceSpf, checkDmarc, checkReportAuthorization } from './dns-checks.ts'
import { type LiveFinding, skipped, unknown } from './finding.ts'
import { checkOwnAddress, checkPortOut, findOwnAddresses } from './own-address.ts'
import { checkPublicUrls } from './public-urls.ts'
import { liveCheckText } from './live-check-texts.ts'

export interface LiveContext {
  readonly config: Config
  readonly clock: Pick<Clock, 'now'>
  /** Whether egress sources exist: their addresses are used then, and have checks of their own. */
  readonly hasSources: boolean
  /** Those that are requested automatically; empty without ACME, or if they cannot be read. */
  readonly certificates: readonly CertificateStatus[]
}

interface CheckInput extends LiveContext {
  readonly deps: CheckDeps & { readonly config: Config }
  readonly addresses: Promise<readonly string[] | LiveFinding>
}

interface LiveCheck {
  readonly run: (input: CheckInput) => Promise<LiveFinding> | LiveFinding
  /** Whether campaigns wait while it fails. */
  readonly holds: boolean
  /** The section of docs/guides/going-live.md. */
  readonly anchor: string
}

export const LIVE_CHECKS = {
  'public URLs': { run: ({ config }) => checkPublicUrls(config), holds: true, anchor: '3-https-and-certificates' },
  'web certificate': {
    run: async ({ config, deps, clock, certificates }) =>
      checkRequestedCertificates(config, certificates) ?? checkWebCertificates(config, deps.dns, clock.now()),
    holds: true,
    anchor: '3-https-and-certificates',
  },
  'SMTP certificate': {
    run: ({ config, clock, certificates }) => checkSmtpCertificate(config, certificates, clock.now()),
    holds: false,
    anchor: '3-https-and-certificates',
  },
  'bounce domain': {
    run: ({ config, deps }) => checkBounceMx(config, deps.dns),
    holds: true,
    anchor: '2-publish-the-records-of-the-bounce-domain',
  },
  'bounce domain SPF': {
    run: ({ config, deps }) => checkBounceSpf(config, deps.dns),
    holds: false,
    anchor: '2-publish-the-records-of-the-bounce-domain',
  },
  'bounce domain DMARC': {
    run: ({ config, deps }) => checkDmarc(config, deps.dns),
    holds: false,
    anchor: '2-publish-the-records-of-the-bounce-domain',
  },
  'DMARC reports': {
    run: ({ config, deps }) => checkReportAuthorization(config, deps.dns),
    holds: false,
    anchor: '2-publish-the-records-of-the-bounce-domain',
  },
  PTR: { run: ofAddress('PTR'), holds: true, anchor: '1-prepare-the-host' },
  'forward match': { run: ofAddress('FCrDNS'), holds: true, anchor: '1-prepare-the-host' },
  'EHLO name': { run: ofAddress('EHLO name'), holds: false, anchor: '1-prepare-the-host' },
  blocklists: {
    run: (input) =>
      input.config.blocklists.length === 0 ? skipped(liveCheckText('blocklists_none')) : ofAddress('blocklists')(input),
    holds: false,
    anchor: '1-prepare-the-host',
  },
  'port 25 out': {
    run: ({ config, deps }) => (isRelayed(config) ? skipped(RELAYED) : checkPortOut(deps)),
    holds: true,
    anchor: '1-prepare-the-host',
  },
} as const satisfies Record<string, LiveCheck>

export type LiveCheckName = keyof typeof LIVE_CHECKS
export const LIVE_CHECK_NAMES = Object.keys(LIVE_CHECKS) as readonly LiveCheckName[]

export type NamedFinding = LiveFinding & { readonly name: LiveCheckName; readonly holds: boolean }

const RELAYED = liveCheckText('relayed')

export async function runLiveChecks(
  context: LiveContext,
  names: readonly LiveCheckName[] = LIVE_CHECK_NAMES,
): Promise<NamedFinding[]> {
  const { config } = context
  const deps = { ...createCheckDeps(config), config }
  const input = { ...context, deps, addresses: findOwnAddresses(config, deps) }
  return Promise.all(
    names.map(async (name) => {
      const { run, holds }: LiveCheck = LIVE_CHECKS[name]
      return { name, holds, ...(await runOne(run, input)) }
    }),
  )
}

/** A check that fails to run is no evidence. */
async function runOne(run: LiveCheck['run'], input: CheckInput): Promise<LiveFinding> {
  try {
    return await run(input)
  } catch (error) {
    return unknown(error instanceof Error ? error.message : String(error))
  }
}

function ofAddress(name: 'PTR' | 'FCrDNS' | 'EHLO name' | 'blocklists'): LiveCheck['run'] {
  return async ({ config, deps, hasSources, addresses }) => {
    if (isRelayed(config)) return skipped(RELAYED)
    if (hasSources) return skipped(liveCheckText('has_sources'))
    return checkOwnAddress(deps, name, await addresses)
  }
}

function isRelayed({ routes }: Config): boolean {
  return routes.some(({ domain }) => domain === '*')
}
