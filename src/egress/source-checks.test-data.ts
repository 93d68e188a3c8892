/** For each check of a source, what is in DNS and what the check finds. */
import type { Zone } from '#test/support/dns.ts'
import { reversedName } from './ip-address.ts'
import type { CheckName, CheckedSource } from './source-checks.ts'

export const FOUR: CheckedSource = { name: 'a', address: '192.0.2.7', ehloName: 'out.sender.example' }
const SIX: CheckedSource = { name: 'b', address: '2001:db8::7', ehloName: 'out.sender.example' }
export const PTR4 = '7.2.0.192.in-addr.arpa'
const PTR6 = reversedName('2001:db8::7', 'ip6.arpa')

interface SourceCheckCase {
  readonly what: string
  readonly check: CheckName
  readonly zone: Zone
  readonly source?: CheckedSource
  readonly expected: RegExp
  readonly todo?: RegExp
}

export const LISTED = (zone: string, answers: readonly string[]): Zone => ({ [`7.2.0.192.${zone}`]: { A: answers } })

export const SOURCE_CHECK_CASES: readonly SourceCheckCase[] = [
  {
    what: 'an address with a name',
    check: 'PTR',
    zone: { [PTR4]: { PTR: ['Out.sender.example'] } },
    expected: /^ok: 192\.0\.2\.7 has the name out\.sender\.example$/,
  },
  {
    what: 'a name of an IPv6 address',
    check: 'PTR',
    source: SIX,
    zone: { [PTR6]: { PTR: ['out.sender.example'] } },
    expected: /^ok/,
  },
  {
    what: 'no name',
    check: 'PTR',
    zone: {},
    expected: /^failed: 192\.0\.2\.7 has no name \(PTR\)$/,
    todo: /set its PTR record to out\.sender\.example/,
  },
  {
    what: 'DNS does not answer',
    check: 'PTR',
    zone: { [PTR4]: { fault: 'servfail' } },
    expected: /^skipped: the DNS server failed/,
  },
  {
    what: 'the name resolves back',
    check: 'FCrDNS',
    expected: /^ok/,
    zone: {
      [PTR4]: { PTR: ['other.example', 'out.sender.example'] },
      'out.sender.example': { A: ['192.0.2.9', '192.0.2.7'] },
    },
  },
  {
    what: 'the name resolves to another address',
    check: 'FCrDNS',
    zone: { [PTR4]: { PTR: ['out.sender.example'] }, 'out.sender.example': { A: ['192.0.2.9'] } },
    expected: /^failed: out\.sender\.example does not resolve to 192\.0\.2\.7$/,
    todo: /A record for out\.sender\.example with 192\.0\.2\.7/,
  },
  {
    what: 'DNS does not answer for the name',
    check: 'FCrDNS',
    zone: { [PTR4]: { PTR: ['out.sender.example'] }, 'out.sender.example': { fault: 'refused' } },
    expected: /^skipped/,
  },
  {
    what: 'the EHLO name resolves to the address',
    check: 'EHLO name',
    zone: { 'out.sender.example': { A: ['192.0.2.7'] } },
    expected: /^ok: out\.sender\.example resolves to 192\.0\.2\.7$/,
  },
  {
    what: 'an IPv6 address in another spelling',
    check: 'EHLO name',
    source: SIX,
    zone: { 'out.sender.example': { AAAA: ['2001:0db8:0:0::7'] } },
    expected: /^ok/,
  },
  {
    what: 'the EHLO name of another address',
    check: 'EHLO name',
    zone: { 'out.sender.example': { A: ['192.0.2.8'] } },
    expected: /^failed: out\.sender\.example resolves to 192\.0\.2\.8, not 192\.0\.2\.7$/,
    todo: /add an A record/,
  },
  {
    what: 'an EHLO name of the other family',
    check: 'EHLO name',
    source: SIX,
    zone: { 'out.sender.example': { A: ['192.0.2.7'] } },
    expected: /^failed: .* has no AAAA record$/,
    todo: /AAAA/,
  },
  { what: 'on no list', check: 'blocklists', zone: {}, expected: /^ok: listed on none of 4$/ },
  {
    what: 'on a list',
    check: 'blocklists',
    zone: LISTED('zen.spamhaus.org', ['127.0.0.2', '127.0.0.4']),
    expected: /^failed: zen\.spamhaus\.org lists the address \(SBL: .*, XBL: /,
    todo: /check\.spamhaus\.org/,
  },
  {
    what: 'a list that refuses the resolver',
    check: 'blocklists',
    zone: LISTED('zen.spamhaus.org', ['127.255.255.254']),
    expected: /^warning: listed on none of 3; zen\.spamhaus\.org does not answer this resolver/,
    todo: /DNS_SERVERS/,
  },
  {
    what: 'a parked zone that answers every name',
    check: 'blocklists',
    zone: LISTED('bl.spamcop.net', ['198.51.100.1']),
    expected: /^warning: listed on none of 3; bl\.spamcop\.net does not answer/,
    todo: /BLOCKLISTS/,
  },
  {
    what: 'an unknown return code',
    check: 'blocklists',
    zone: LISTED('psbl.surriel.com', ['127.0.0.77']),
    expected: /^failed: psbl\.surriel\.com lists the address \(127\.0\.0\.77\)$/,
    todo: /psbl\.org/,
  },
  { what: 'no list answers', check: 'blocklists', zone: { '*': { fault: 'refused' } }, expected: /^skipped: zen/ },
  { what: 'lists for IPv6 only', check: 'blocklists', source: SIX, zone: {}, expected: /^ok: listed on none of 1$/ },
]
