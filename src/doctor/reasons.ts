/**
 * Why each check matters, and the DNS record that a failing one needs, for people who see an installation for the first
 * time. A test compares the names with the checks.
 */
import { getDomain } from 'tldts'
import type { Config } from '#config/load.ts'
import { reportAuthorizationName } from '#src/domains/dmarc-report-address.ts'

const EGRESS = 'Receivers judge each sending address by itself.'

const REASONS: Readonly<Record<string, string>> = {
  'Node.js': 'An older version lacks functions that the service needs.',
  notices: 'These problems wait for somebody: nothing repairs them by itself.',
  suspensions: 'Suspended mail waits, and fails when it is too old.',
  mode: 'In the sandbox no mail leaves this machine.',
  disk: 'A full disk stops PostgreSQL, and then the service accepts no mail.',
  PostgreSQL: 'It stores all mail and settings. Without it, nothing is accepted.',
  'PostgreSQL connections': 'A process that gets no connection cannot work.',
  migrations: 'The program and the database must have the same version.',
  clock: 'Retries, limits and signatures depend on the time.',
  'process clocks': 'Machines with different clocks disagree about what is due.',
  'master key': 'Without it, signing keys and credentials cannot be decrypted, and no mail is signed.',
  Redis: 'It has the schedule and the limits. Without it, mail is accepted and waits.',
  'Redis eviction': 'If Redis evicts keys, mail waits until the schedule is filled again.',
  'Redis persistence': 'Without it, a restart of Redis costs minutes in which mail waits.',
  DNS: 'Without DNS no receiver is found.',
  DNSSEC: 'Without it, DANE cannot protect the way to receivers.',
  'queue age': 'Mail that waits for long is late, and at last it fails.',
  retention: 'Mail that is stored for longer than promised is a problem of data protection.',
  backup: 'Without a backup, a broken disk loses everything.',
  bounces: 'Bounces that nobody understands leave bad addresses on the lists.',
  'return-path': 'SPF aligns with the domain of the sender only if its return-path has records.',
  'sender DMARC': 'Large receivers refuse bulk mail from domains without DMARC.',
  'DKIM keys': 'Old keys are weaker, and receivers advise to rotate them.',
  'operator DKIM': 'Feedback loops send complaints to who signed: a signature that fails gets none.',
  'TLS reports': 'Reports tell of receivers that could not be reached securely.',
  'hosted mail': 'Browsers and blocklists judge a host name by its worst page.',
  'egress sources': EGRESS,
  'plain HTTP': 'Passwords and keys that are sent without TLS can be read on the way.',
  'public URLs': 'Links to open, click and unsubscribe lead there, from the mail of strangers.',
  'web certificate': 'Without a valid certificate, the links in mail show a warning, and webhooks fail.',
  'SMTP certificate': 'Programs and other servers refuse to send over an unsafe connection.',
  'bounce domain': 'Without its MX record no bounce comes back, and bad addresses stay on the lists.',
  'bounce domain SPF': 'Receivers check SPF of the return-path, which is in this domain.',
  'bounce domain DMARC': 'Without it others can send as this domain, and large receivers expect one.',
  'DMARC reports': 'Without the record, receivers send no reports about domains of customers to this service.',
  PTR: 'Large receivers refuse mail from an address without a name.',
  'forward match': 'Receivers refuse an address whose name does not lead back to it.',
  'EHLO name': 'Receivers compare the name in the greeting with that of the address.',
  blocklists: 'Receivers refuse mail from listed addresses.',
  'port 25 out': 'Other mail servers are reached at port 25 only; many hosts close it until they are asked.',
}

export function reasonOf(check: string): string {
  return REASONS[check] ?? (check.startsWith('egress ') ? EGRESS : '')
}

/** Names that have a reason, for the test. */
export const REASONED_NAMES: readonly string[] = Object.keys(REASONS)

export interface NeededRecord {
  readonly type: 'MX' | 'TXT'
  readonly name: string
  readonly value: string
}

type RecordSettings = Pick<Config, 'bounceDomain' | 'serverName'>

const RECORDS: Readonly<Record<string, (config: RecordSettings) => NeededRecord>> = {
  'bounce domain': ({ bounceDomain, serverName }) => ({ type: 'MX', name: bounceDomain, value: `10 ${serverName}` }),
  'bounce domain SPF': ({ bounceDomain, serverName }) => ({
    type: 'TXT',
    name: bounceDomain,
    value: `v=spf1 a:${serverName} -all`,
  }),
  'bounce domain DMARC': ({ bounceDomain }) => ({
    type: 'TXT',
    name: `_dmarc.${getDomain(bounceDomain) ?? bounceDomain}`,
    value: 'v=DMARC1; p=none',
  }),
  'DMARC reports': ({ bounceDomain }) => ({
    type: 'TXT',
    name: reportAuthorizationName('*', bounceDomain),
    value: 'v=DMARC1',
  }),
}

/** Null if a record does not repair it, or it depends on the host. */
export function neededRecordOf(check: string, config: RecordSettings): NeededRecord | null {
  return RECORDS[check]?.(config) ?? null
}
