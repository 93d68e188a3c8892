/**
 * DNS blocklists and how to read their answers. A query is the reversed address under the zone; an A record inside 127.0.0.0/8 is an
 * answer (RFC 5782), and 127.255.255.x are errors of the asker: no listing.
 */
export interface Blocklist {
  readonly zone: string
  readonly families: readonly (4 | 6)[]
  /** Where a listing is looked at and lifted. */
  readonly page: string
  /** What answers mean; the first that fits. One that fits none is a listing without a word. */
  readonly meanings: readonly (readonly [answer: RegExp, meaning: string])[]
}

export const BLOCKLISTS: readonly Blocklist[] = [
  {
    zone: 'zen.spamhaus.org',
    families: [4, 6],
    page: 'https://check.spamhaus.org',
    meanings: [
      [/^127\.0\.0\.(2|3)$/, 'SBL: seen sending spam'],
      [/^127\.0\.0\.9$/, 'DROP: a network of spammers'],
      [/^127\.0\.0\.[4-7]$/, 'XBL: an infected or open machine'],
      [/^127\.0\.0\.1[01]$/, "PBL: an address that is not to send mail, by its provider's word"],
    ],
  },
  {
    zone: 'bl.spamcop.net',
    families: [4],
    page: 'https://www.spamcop.net/bl.shtml',
    meanings: [[/^127\.0\.0\.2$/, 'reported as spam lately']],
  },
  {
    zone: 'psbl.surriel.com',
    families: [4],
    page: 'https://psbl.org',
    meanings: [[/^127\.0\.0\.2$/, 'mailed to spam traps']],
  },
  {
    zone: 'bl.mailspike.net',
    families: [4],
    page: 'https://mailspike.io',
    meanings: [[/^127\.0\.0\.(2|10|11|12)$/, 'a bad reputation']],
  },
]

/** Of a zone that is not in the table. */
export function blocklistOf(zone: string): Blocklist {
  return (
    BLOCKLISTS.find((one) => one.zone === zone) ?? { zone, families: [4, 6], page: `https://${zone}`, meanings: [] }
  )
}
