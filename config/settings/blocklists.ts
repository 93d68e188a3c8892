/**
 * DNS blocklists and the meaning of their answers. The query is the reversed address under the zone. An A record in
 * 127.0.0.0/8 means listed (RFC 5782), except 127.255.255.x, which reports a problem with the query.
 */
export interface Blocklist {
  readonly zone: string
  readonly families: readonly (4 | 6)[]
  /** Where the operator can look up a listing and request removal. */
  readonly page: string
  /** The first pattern that matches applies. An answer that matches none is a listing without an explanation. */
  readonly meanings: readonly (readonly [answer: RegExp, meaning: string])[]
}

export const BLOCKLISTS: readonly Blocklist[] = [
  {
    zone: 'zen.spamhaus.org',
    families: [4, 6],
    page: 'https://check.spamhaus.org',
    meanings: [
      [/^127\.0\.0\.(2|3)$/, 'SBL: a known spam source'],
      [/^127\.0\.0\.9$/, 'DROP: a network controlled by spammers'],
      [/^127\.0\.0\.[4-7]$/, 'XBL: an infected machine or open proxy'],
      [/^127\.0\.0\.1[01]$/, "PBL: the network's operator says that this address must not send mail"],
    ],
  },
  {
    zone: 'bl.spamcop.net',
    families: [4],
    page: 'https://www.spamcop.net/bl.shtml',
    meanings: [[/^127\.0\.0\.2$/, 'recently reported for spam']],
  },
  {
    zone: 'psbl.surriel.com',
    families: [4],
    page: 'https://psbl.org',
    meanings: [[/^127\.0\.0\.2$/, 'sent mail to spam traps']],
  },
  {
    zone: 'bl.mailspike.net',
    families: [4],
    page: 'https://mailspike.io',
    meanings: [[/^127\.0\.0\.(2|10|11|12)$/, 'poor reputation']],
  },
]

/** The row of a zone; for a zone without a row, one that any answer lists. */
export function blocklistOf(zone: string): Blocklist {
  return (
    BLOCKLISTS.find((one) => one.zone === zone) ?? { zone, families: [4, 6], page: `https://${zone}`, meanings: [] }
  )
}
