/**
 * The DNS records that a domain publishes: for DKIM signatures, bounces and tracking links, each with its purpose.
 * Pure. Names are absolute, without a final dot. The same domain and settings always give the same list in the same
 * order.
 */
import { isIP } from 'node:net'
import type { Config } from '#config/load.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import { bimiName, bimiRecordValue, type BimiFiles } from './bimi-record.ts'
import { delegatedNames, type DelegatedName } from './delegated-names.ts'
import { RETIRED_MS, type DkimKeyRow, type KeyState } from './key-state.ts'

export type RecordPurpose = 'dkim' | 'spf' | 'dmarc' | 'mail_from' | 'tracking' | 'bimi' | 'return_path'

export interface DnsRecord {
  readonly type: 'TXT' | 'MX' | 'CNAME'
  readonly name: string
  readonly value: string
  /** MX only. */
  readonly priority?: number
  readonly purpose: RecordPurpose
  /** A sentence for the person who enters the record. */
  readonly description: string
  /** The domain cannot be verified without it. */
  readonly isRequired: boolean
}

/** The host names of this service that the records point to. */
export interface ServiceHosts {
  readonly bounceDomain: string
  readonly serverName: string
  /** Target of customers' tracking names; null if the tracking host is not public. */
  readonly trackingHost: string | null
  /** Receives DMARC reports. */
  readonly dmarcReports: string
}

/** The local part of the address for DMARC reports, at the bounce domain. */
export const DMARC_REPORT_LOCAL = 'dmarc-reports'

export function serviceHostsOf(
  config: Pick<Config, 'bounceDomain' | 'serverName' | 'trackingUrl' | 'isSandbox'>,
): ServiceHosts {
  const { hostname } = new URL(config.trackingUrl)
  const isPublic = hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('[')
  const serverName = config.isSandbox ? SANDBOX_MX : config.serverName
  const { bounceDomain } = config
  const dmarcReports = `${DMARC_REPORT_LOCAL}@${bounceDomain}`
  return { bounceDomain, serverName, trackingHost: isPublic ? hostname : null, dmarcReports }
}

export function dkimName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`
}

/** The subdomain that receives a domain's bounces: its own envelope sender domain. */
export function mailFromDomainOf(domain: string): string {
  return `${MAIL_FROM_LABEL}${domain}`
}

/** The sending domain of such a subdomain; null for another name. */
export function domainOfMailFrom(name: string): string | null {
  return name.startsWith(MAIL_FROM_LABEL) ? name.slice(MAIL_FROM_LABEL.length) : null
}

const MAIL_FROM_LABEL = 'bounce.'

/** The subdomain used in tracking links of a domain's mail. */
export function trackingNameOf(domain: string): string {
  return `track.${domain}`
}

export interface DomainWithKeys {
  readonly id: string
  readonly domain: string
  /** The operator's zone to which its DKIM names point; null: they are TXT records. */
  readonly dkimZone: string | null
  readonly keys: readonly DkimKeyRow[]
  /** The files of its BIMI record; null: the owner has set none. */
  readonly bimi: BimiFiles | null
}

/** Records in the zone of the sending domain. */
export function domainRecords(owner: DomainWithKeys, service: ServiceHosts): DnsRecord[] {
  const { domain, keys, bimi } = owner
  return [
    ...keys
      .filter(({ state, target }) => target === null && state !== 'removable')
      .map((key) => dkimRecord(domain, key)),
    ...dkimAliases(owner),
    {
      type: 'TXT',
      name: domain,
      value: `v=spf1 include:${service.bounceDomain} ~all`,
      purpose: 'spf',
      isRequired: false,
      description:
        'SPF: for receivers that check it for the From domain. ' +
        'If the domain already has an SPF record, add the include to it.',
    },
    {
      type: 'TXT',
      name: `_dmarc.${domain}`,
      value: `v=DMARC1; p=none; rua=mailto:${service.dmarcReports}`,
      purpose: 'dmarc',
      isRequired: false,
      description:
        'DMARC: what receivers do with mail that fails authentication, and where they report it. ' +
        'Large receivers require it of bulk senders.',
    },
    ...mailFromRecords(domain, service),
    ...(service.trackingHost === null
      ? []
      : [
          {
            type: 'CNAME',
            name: trackingNameOf(domain),
            value: service.trackingHost,
            purpose: 'tracking',
            isRequired: false,
            description: 'Tracking: links and open pixels in your mail use your own name.',
          } as const,
        ]),
    ...(bimi === null ? [] : [bimiRecord(domain, bimi)]),
  ]
}

function bimiRecord(domain: string, files: BimiFiles): DnsRecord {
  return {
    type: 'TXT',
    name: bimiName(domain),
    value: bimiRecordValue(files),
    purpose: 'bimi',
    isRequired: false,
    description: 'BIMI: the logo that receivers may show beside your mail.',
  }
}

/** Records of keys that were replaced long ago; the owner may delete them from the zone. */
export function removableRecords({
  domain,
  keys,
}: Pick<DomainWithKeys, 'domain' | 'keys'>): Pick<DnsRecord, 'type' | 'name' | 'value'>[] {
  const removable = keys.filter(({ state }) => state === 'removable')
  return removable.map(({ selector, dnsValue }) => ({ type: 'TXT', name: dkimName(selector, domain), value: dnsValue }))
}

const DKIM_TEXTS: Readonly<Record<KeyState, (key: DkimKeyRow) => string>> = {
  active: ({ algorithm }) =>
    algorithm === 'rsa-sha256'
      ? 'DKIM: proves that the mail is yours. This record verifies the domain.'
      : 'DKIM, second signature: for receivers that support Ed25519.',
  waiting: () =>
    'DKIM, the next key: publish it beside the current one. It signs once it has been in DNS for 10 minutes.',
  retired: ({ sinceMs }) => {
    const until = new Date(sinceMs + RETIRED_MS).toISOString().slice(0, 10)
    return `DKIM, the previous key: keep it until ${until}, for mail in transit.`
  },
  removable: () => 'DKIM, an old key: you may delete this record.',
  revoked: () => 'DKIM, an old key.',
}

const ALIAS_TEXTS: Readonly<Record<DelegatedName['algorithm'], string>> = {
  'rsa-sha256':
    'DKIM: proves that the mail is yours. It points to a key that we replace; you never change this record.',
  'ed25519-sha256': 'DKIM, second signature: for receivers that support Ed25519. You never change this record.',
}

/** The four CNAMEs of a delegated domain; those without a key yet are for the next rotation. */
function dkimAliases({ id, domain, dkimZone, keys }: DomainWithKeys): DnsRecord[] {
  if (dkimZone === null) return []
  const active = new Set(keys.filter(({ state }) => state === 'active').map(({ selector }) => selector))
  return delegatedNames({ id, dkimZone }).map(({ selector, algorithm, target }) => ({
    type: 'CNAME',
    name: dkimName(selector, domain),
    value: target,
    purpose: 'dkim',
    description: ALIAS_TEXTS[algorithm],
    isRequired: active.has(selector) && algorithm === 'rsa-sha256',
  }))
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

function mailFromRecords(domain: string, service: ServiceHosts): DnsRecord[] {
  const name = mailFromDomainOf(domain)
  // the operator's bounce domain may have this very name: then its own SPF record applies
  const spf =
    name === service.bounceDomain
      ? `v=spf1 a:${service.serverName} -all`
      : `v=spf1 include:${service.bounceDomain} ~all`
  return [
    {
      type: 'MX',
      name,
      value: service.serverName,
      priority: 10,
      purpose: 'mail_from',
      isRequired: false,
      description:
        'MAIL FROM, recommended: this name receives your bounces. ' +
        'With it and the next record, SPF passes for your domain.',
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

/**
 * Records in the zone of the bounce domain, once per installation: MX to receive bounces, SPF for the envelope sender
 * (RFC 7208 2.4).
 */
export function returnPathRecords({ bounceDomain, serverName }: ServiceHosts): DnsRecord[] {
  const common = { name: bounceDomain, purpose: 'return_path', isRequired: false } as const
  return [
    {
      ...common,
      type: 'MX',
      value: serverName,
      priority: 10,
      description: 'For the operator, once: receives bounces.',
    },
    {
      ...common,
      type: 'TXT',
      value: `v=spf1 a:${serverName} -all`,
      description: 'For the operator, once: SPF of the return-path.',
    },
  ]
}
