/**
 * The mailbox that an address delivers to, as far as its provider's rules are public: for limits that protect a
 * mailbox, never for sending or storing. Different spellings of one mailbox give the same text. Two people may share a
 * result only if their provider treats their addresses as one. Pure; never throws.
 */
import { parseAddress } from './address.ts'

interface ProviderRule {
  /** The name that all of the provider's domains stand for. */
  readonly as: string
  /** Characters that the provider ignores in a local part. */
  readonly ignored?: RegExp
  /** What separates a tag that the provider ignores, with all that follows it. */
  readonly tag?: string
}

/** Most servers, as Postfix and Exim, take `+` for a tag where they take any. */
const DEFAULT_TAG = '+'

const RULES: readonly (ProviderRule & { readonly domains: readonly string[] })[] = [
  { as: 'gmail.com', domains: ['gmail.com', 'googlemail.com'], ignored: /\./g },
  {
    as: 'proton.me',
    domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'],
    ignored: /[._-]/g,
  },
  {
    as: 'yandex.ru',
    domains: ['yandex.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua', 'ya.ru'],
    ignored: /[.-]/g,
  },
  { as: 'icloud.com', domains: ['icloud.com', 'me.com', 'mac.com'] },
  { as: 'yahoo.com', domains: ['yahoo.com', 'ymail.com', 'rocketmail.com'], tag: '-' },
  { as: 'fastmail.com', domains: ['fastmail.com', 'fastmail.fm'] },
]
const BY_DOMAIN: ReadonlyMap<string, ProviderRule> = new Map(
  RULES.flatMap((rule) => rule.domains.map((domain) => [domain, rule] as const)),
)
/** Domains of Fastmail deliver `anything@user.fastmail.com` to the user. */
const SUBDOMAIN_USERS = /^([a-z0-9-]+)\.(fastmail\.(?:com|fm))$/

/** Lower case: a provider for which letter case matters is not known. An invalid address is only lower-cased. */
export function canonicalMailbox(text: string): string {
  const parsed = parseAddress(text.trim())
  if (!parsed.ok) return text.trim().toLowerCase()
  const { domain } = parsed.address
  const [, user, ofUser] = SUBDOMAIN_USERS.exec(domain) ?? []
  const rule = BY_DOMAIN.get(ofUser ?? domain) ?? { as: domain }
  const local = user ?? parsed.address.local
  return `${stripTag(local.normalize('NFKC').toLowerCase(), rule)}@${rule.as}`
}

/** What finds the spellings of a mailbox in a store. */
export interface MailboxSpellings {
  /** How all of them begin, in lower case. */
  readonly prefix: string
  /** A regular expression of PostgreSQL that every spelling in lower case matches. Others may match it too. */
  readonly pattern: string
}

/** The spellings that `canonicalMailbox` gives the same text. Check with it what the pattern finds. */
export function spellingsOf(text: string): MailboxSpellings {
  const canonical = canonicalMailbox(text)
  const at = canonical.lastIndexOf('@')
  const [local, as] = [canonical.slice(0, at), canonical.slice(at + 1)]
  const rule = RULES.find((one) => one.as === as)
  const isPlain = /^[a-z0-9][a-z0-9.!#$%&'*/=?^_`{|}~+-]*$/.test(local)
  const domains = `@(${(rule?.domains ?? [as]).map(escapePattern).join('|')})$`
  const isUser = rule?.as === 'fastmail.com'
  const ofUser = isUser ? `|@${escapePattern(local)}[.]fastmail[.](com|fm)$` : ''
  if (!isPlain) return { prefix: '', pattern: `${domains}${ofUser}` }
  const ignored = rule?.ignored === undefined ? '' : `${rule.ignored.source}*`
  const tags = [DEFAULT_TAG, ...(rule?.tag === undefined ? [] : [rule.tag])].map(escapePattern).join('|')
  const letters = local.split('').map(escapePattern).join(ignored)
  return {
    // a local part never begins with a dot, but it may with another ignored character
    prefix: isUser ? '' : ignored === '' ? local : rule?.as === 'gmail.com' ? local.slice(0, 1) : '',
    pattern: `^${ignored}${letters}${ignored}((${tags}).*)?${domains}${ofUser}`,
  }
}

function escapePattern(text: string): string {
  return text.replace(/[^a-z0-9@-]/g, (char) =>
    char === '^' || char === ']' || char === '\\' ? `\\${char}` : `[${char}]`,
  )
}

/** A local part that would be empty stays as it is. */
function stripTag(local: string, { ignored, tag }: ProviderRule): string {
  let base = local
  for (const separator of [DEFAULT_TAG, ...(tag === undefined ? [] : [tag])]) base = base.split(separator, 1)[0] ?? ''
  const bare = ignored === undefined ? base : base.replaceAll(ignored, '')
  return bare === '' ? local : bare
}
