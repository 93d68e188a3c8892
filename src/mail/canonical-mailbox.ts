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
  readonly ignored?: string
  /** What separates a tag that the provider ignores, with all that follows it. */
  readonly tag?: string
}

/** Most servers, as Postfix and Exim, take `+` for a tag where they take any. */
const DEFAULT_TAG = '+'

const RULES: readonly (ProviderRule & { readonly domains: readonly string[] })[] = [
  { as: 'gmail.com', domains: ['gmail.com', 'googlemail.com'], ignored: '.' },
  {
    as: 'proton.me',
    domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'],
    ignored: '._-',
  },
  {
    as: 'yandex.ru',
    domains: ['yandex.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua', 'ya.ru'],
    ignored: '.-',
  },
  { as: 'icloud.com', domains: ['icloud.com', 'me.com', 'mac.com'] },
  { as: 'yahoo.com', domains: ['yahoo.com', 'ymail.com', 'rocketmail.com'], tag: '-' },
  { as: 'fastmail.com', domains: ['fastmail.com', 'fastmail.fm'] },
]
const BY_DOMAIN: ReadonlyMap<string, ProviderRule> = new Map(
  RULES.flatMap((rule) => rule.domains.map((domain) => [domain, rule] as const)),
)
const SUBDOMAIN_PROVIDER = 'fastmail.com'
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

/** The parts of a mailbox, for `mailbox-spellings.ts`. */
export interface MailboxForm {
  readonly local: string
  /** All domains of the provider. */
  readonly domains: readonly string[]
  /** Characters that may be anywhere in a spelling of the local part. */
  readonly ignored: string
  /** What may follow the local part, with any text behind it. */
  readonly tags: readonly string[]
  /** `anything@local.domain` is the same mailbox. */
  readonly hasSubdomains: boolean
}

/** What all spellings of a mailbox have in common. */
export function formOf(text: string): MailboxForm {
  const canonical = canonicalMailbox(text)
  const at = canonical.lastIndexOf('@')
  const [local, as] = [canonical.slice(0, at), canonical.slice(at + 1)]
  const rule = RULES.find((one) => one.as === as)
  const { ignored = '', tag } = rule ?? {}
  return {
    local,
    domains: rule?.domains ?? [as],
    // a local part that has one of them stayed as it was
    ignored: Array.from(local).some((char) => ignored.includes(char)) ? '' : ignored,
    tags: tag === undefined ? [DEFAULT_TAG] : [DEFAULT_TAG, tag],
    hasSubdomains: as === SUBDOMAIN_PROVIDER,
  }
}

/** A local part that would be empty stays as it is. */
function stripTag(local: string, { ignored = '', tag }: ProviderRule): string {
  let base = local
  for (const separator of [DEFAULT_TAG, ...(tag === undefined ? [] : [tag])]) base = base.split(separator, 1)[0] ?? ''
  const bare = Array.from(base)
    .filter((char) => !ignored.includes(char))
    .join('')
  return bare === '' ? local : bare
}
