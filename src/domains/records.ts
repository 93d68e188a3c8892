/**
 * The DNS records that make mail of a domain ours to sign, its bounces ours to receive and its links its own, each with what it is for.
 * Pure; names are absolute, with no final dot. The same domain and settings always give the same list in the same order.
 */
import { isIP } from 'node:net'
import type { Config } from '#config/load.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import { KEEP_RETIRED_MS, type DkimKeyRow, type KeyState } from './key-state.ts'

export type Purpose = 'dkim' | 'spf' | 'dmarc' | 'mail_from' | 'tracking' | 'return_path'

export interface DnsRecord {
  readonly type: 'TXT' | 'MX' | 'CNAME'
  readonly name: string
  readonly value: string
  /** MX only. */
  readonly priority?: number
  readonly purpose: Purpose
  /** A sentence for whoever enters it. */
  readonly description: string
  /** The domain is not verified without it. */
  readonly isRequired: boolean
}

/** Our side of the records. */
export interface Place {
  readonly bounceDomain: string
  readonly serverName: string
  /** Where tracking links of customers lead; null where nobody else can reach us. */
  readonly trackingHost: string | null
}

export function placeOf(config: Pick<Config, 'bounceDomain' | 'serverName' | 'trackingUrl' | 'isSandbox'>): Place {
  const { hostname } = new URL(config.trackingUrl)
  const isPublic = hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('[')
  const serverName = config.isSandbox ? SANDBOX_MX : config.serverName
  return { bounceDomain: config.bounceDomain, serverName, trackingHost: isPublic ? hostname : null }
}

export function dkimName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`
}

/** The subdomain that takes a domain's bounces: its own envelope sender. */
export function mailFromOf(domain: string): string {
  return `bounce.${domain}`
}

/** The subdomain that stands in tracking links of a domain's mail. */
export function trackingNameOf(domain: string): string {
  return `track.${domain}`
}

type Keyed = { readonly domain: string; readonly keys: readonly DkimKeyRow[] }

/** In the zone of the sending domain. */
export function domainRecords({ domain, keys }: Keyed, place: Place): DnsRecord[] {
  return [
    ...keys.filter(({ state }) => state !== 'removable').map((key) => dkimRecord(domain, key)),
    {
      type: 'TXT',
      name: domain,
      value: `v=spf1 include:${place.bounceDomain} ~all`,
      purpose: 'spf',
      isRequired: false,
      description:
        'SPF: for receivers that look at it for the From domain. If there is an SPF record already, put the include into it.',
    },
    {
      type: 'TXT',
      name: `_dmarc.${domain}`,
      value: 'v=DMARC1; p=none',
      purpose: 'dmarc',
      isRequired: false,
      description:
        'DMARC: what receivers do with mail that is not signed by you. Large receivers ask bulk senders for one.',
    },
    ...mailFromRecords(domain, place),
    ...(place.trackingHost === null
      ? []
      : [
          {
            type: 'CNAME',
            name: trackingNameOf(domain),
            value: place.trackingHost,
            purpose: 'tracking',
            isRequired: false,
            description: 'Tracking: links and open pixels of your mail have your name in them.',
          } as const,
        ]),
  ]
}

/** Records of keys that were replaced long ago: they may be removed from the zone. */
export function removableRecords({ domain, keys }: Keyed): Pick<DnsRecord, 'type' | 'name' | 'value'>[] {
  const removable = keys.filter(({ state }) => state === 'removable')
  return removable.map(({ selector, dnsValue }) => ({ type: 'TXT', name: dkimName(selector, domain), value: dnsValue }))
}

const DKIM_TEXTS: Readonly<Record<KeyState, (key: DkimKeyRow) => string>> = {
  active: ({ algorithm }) =>
    algorithm === 'rsa-sha256'
      ? 'DKIM: proves that the mail is yours. The domain is verified by this record.'
      : 'DKIM, second signature: short and modern, for receivers that know Ed25519.',
  waiting: () =>
    'DKIM, the next key: publish it beside the present one. It signs once it has been seen for 10 minutes.',
  retired: ({ sinceMs }) => {
    const until = new Date(sinceMs + KEEP_RETIRED_MS).toISOString().slice(0, 10)
    return `DKIM, the key before: keep it until ${until}, for mail that is under way.`
  },
  removable: () => 'DKIM, an old key: it may be removed.',
}

function dkimRecord(domain: string, key: DkimKeyRow): DnsRecord {
  return {
    type: 'TXT',
    name: dkimName(key.selector, domain),
    value: key.dnsValue,
    purpose: 'dkim',
    description: DKIM_TEXTS[key.state](key),
    isRequired: key.state === 'active' && key.algorithm === 'rsa-sha256',
  }
}

function mailFromRecords(domain: string, place: Place): DnsRecord[] {
  const name = mailFromOf(domain)
  // where the operator's bounce domain has this very name, it has its own records
  const spf =
    name === place.bounceDomain ? `v=spf1 a:${place.serverName} -all` : `v=spf1 include:${place.bounceDomain} ~all`
  return [
    {
      type: 'MX',
      name,
      value: place.serverName,
      priority: 10,
      purpose: 'mail_from',
      isRequired: false,
      description:
        'MAIL FROM: bounces of your mail come to this name. With it and the next record, SPF passes in your name.',
    },
    {
      type: 'TXT',
      name,
      value: spf,
      purpose: 'mail_from',
      isRequired: false,
      description: 'MAIL FROM: SPF for the envelope sender of your mail.',
    },
  ]
}

/** In the zone of the bounce domain, once for all: MX so that bounces come home, SPF for the envelope sender (RFC 7208 2.4). */
export function returnPathRecords({ bounceDomain, serverName }: Place): DnsRecord[] {
  const common = { name: bounceDomain, purpose: 'return_path', isRequired: false } as const
  return [
    {
      ...common,
      type: 'MX',
      value: serverName,
      priority: 10,
      description: 'For the operator, once: bounces come home.',
    },
    {
      ...common,
      type: 'TXT',
      value: `v=spf1 a:${serverName} -all`,
      description: 'For the operator, once: SPF of the return-path.',
    },
  ]
}
