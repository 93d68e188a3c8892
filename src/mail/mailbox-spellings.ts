/**
 * What finds all spellings of a mailbox in a table whose index sorts the addresses by bytes, in lower case: few ranges
 * of the index, and a pattern. A provider that ignores dots has 2^(n-1) spellings of n letters, and any tag may follow,
 * so they cannot be listed. The ranges are those of a tree of prefixes, which grows where most addresses of a table are
 * expected, until there are enough ranges.
 *
 * Every address that `canonicalMailbox` gives the same text is in a range and matches the pattern; others may be and
 * match too, so compare what is found with `canonicalMailbox`. Characters that are not ASCII may stand for ASCII ones
 * (NFKC), and their lower case differs between PostgreSQL and JavaScript: wherever one may be, there is a range for it,
 * and the pattern permits it. Pure; never throws.
 */
import { formOf, type MailboxForm } from './canonical-mailbox.ts'

export interface MailboxSpellings {
  /** The bounds of the ranges, disjoint: `low` is in the range, `high` is not. */
  readonly lows: readonly string[]
  readonly highs: readonly string[]
  /** A regular expression of PostgreSQL for addresses in lower case. */
  readonly pattern: string
  /** Each spelling in ASCII ends in one of these domains, perhaps of a subdomain. */
  readonly domains: readonly string[]
}

/**
 * Prefixes that are extended; each adds about two ranges, which cost a search in the index each. More than a local part
 * has characters, so that the prefixes without ignored characters end at the domain.
 */
const MAX_EXTENDED = 80
/** Shares of addresses that continue with one letter, first and later, and with one character that is ignored. */
const FIRST_LETTERS = 3
const FIRST_LETTER_SHARE = 1 / 10
const LETTER_SHARE = 1 / 3
const IGNORED_SHARE = 1 / 25

const LAST = '\u{10ffff}'
const FIRST_NOT_ASCII = '\u0080'

/** The spellings of the mailbox of an address. */
export function spellingsOf(email: string): MailboxSpellings {
  const form = formOf(email)
  const ranges = form.hasSubdomains ? [{ low: '', high: LAST }] : rangesOf(form)
  return {
    lows: ranges.map(({ low }) => low),
    highs: ranges.map(({ high }) => high),
    pattern: patternOf(form),
    domains: form.domains,
  }
}

interface Range {
  readonly low: string
  readonly high: string
}

/** A prefix of spellings. */
interface Prefix {
  readonly text: string
  /** How many letters of the local part are in it. */
  readonly used: number
  /** The expected share of all addresses. */
  readonly share: number
}

/** The ASCII characters that the local part of each spelling begins with, besides ignored ones. */
function lettersOf(local: string): { readonly letters: string; readonly isWhole: boolean } {
  const [letters = ''] = /^[\0-\u007f]*/.exec(local.normalize('NFKD')) ?? []
  return { letters, isWhole: letters === local }
}

function rangesOf(form: MailboxForm): Range[] {
  const { letters, isWhole } = lettersOf(form.local)
  const open: Prefix[] = [{ text: '', used: 0, share: 1 }]
  const ranges: Range[] = []
  for (let extended = 0; extended < MAX_EXTENDED; extended++) {
    const next = takeLargest(open)
    if (next === null) break
    if (next.used === letters.length && !isWhole) {
      ranges.push(startingWith(next.text))
      continue
    }
    ranges.push({ low: `${next.text}${FIRST_NOT_ASCII}`, high: endOf(next.text) })
    if (next.used === letters.length) ranges.push(...endsOf(next, form))
    else open.push(letterAfter(next, letters))
    open.push(...ignoredAfter(next, form))
  }
  return [...ranges, ...open.map(({ text }) => startingWith(text))]
}

/** Removes the prefix with the largest share. */
function takeLargest(open: Prefix[]): Prefix | null {
  const largest = open.reduce<Prefix | null>(
    (best, one) => (best === null || one.share > best.share ? one : best),
    null,
  )
  if (largest !== null) open.splice(open.indexOf(largest), 1)
  return largest
}

function letterAfter({ text, used, share }: Prefix, letters: string): Prefix {
  const part = used < FIRST_LETTERS ? FIRST_LETTER_SHARE : LETTER_SHARE
  return { text: text + letters.charAt(used), used: used + 1, share: share * part }
}

/** A domain or a tag follows the whole local part. */
function endsOf({ text }: Prefix, { domains, tags }: MailboxForm): Range[] {
  return [
    ...domains.map((domain) => ({ low: `${text}@${domain}`, high: `${text}@${domain}\u0001` })),
    ...tags.map((tag) => startingWith(`${text}${tag}`)),
  ]
}

/** Outside of quotes a dot is neither first nor beside another one (RFC 5321 §4.1.2, Dot-string). */
function ignoredAfter({ text, used, share }: Prefix, { ignored }: MailboxForm): Prefix[] {
  const isDotAllowed = text.startsWith('"') || (text !== '' && !text.endsWith('.'))
  return Array.from(ignored)
    .filter((char) => char !== '.' || isDotAllowed)
    .map((char) => ({ text: text + char, used, share: share * IGNORED_SHARE }))
}

function startingWith(prefix: string): Range {
  return { low: prefix, high: endOf(prefix) }
}

/** The first text behind all that begin with an ASCII prefix. */
function endOf(prefix: string): string {
  return prefix === '' ? LAST : prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
}

function patternOf({ local, domains, ignored, tags, hasSubdomains }: MailboxForm): string {
  const anywhere = ignored === '' ? '' : `[${ignored}]*`
  const letters = Array.from(local).map(escapePattern).join(anywhere)
  const tag = `((${tags.map(escapePattern).join('|')}).*)?`
  const subdomains = hasSubdomains ? [`@${escapePattern(local)}[.](${domains.map(escapePattern).join('|')})$`] : []
  return [
    `^${anywhere}${letters}${anywhere}${tag}@(${domains.map(escapePattern).join('|')})$`,
    ...subdomains,
    '[^\\x01-\\x7f]',
  ].join('|')
}

function escapePattern(text: string): string {
  return text.replace(/[^a-z0-9@-]/g, (char) =>
    char === '^' || char === ']' || char === '\\' ? `\\${char}` : `[${char}]`,
  )
}
