/**
 * Parses the human-readable text of a bounce: the notice above the returned message, split at each address that it is
 * about. The patterns cover qmail, Postfix, Exim, sendmail, Exchange, Domino and similar servers: an address alone on a
 * line, at the start of a line before a colon, in a transcript, or after words such as "could not be delivered to".
 */
import { textFromHtml } from '#src/mail/html-text.ts'
import { type MimePart, decodeText, fieldValue, walkParts } from './mime.ts'
import { anyOf, group } from './text-patterns.ts'

export interface DeliveryNotice {
  /** The text above the returned message. */
  readonly text: string
  /** The returned message, if the text itself contains it. */
  readonly returned: string
  readonly entries: readonly NoticeEntry[]
}

export interface NoticeEntry {
  readonly address: string
  /** What the notice says about this address. */
  readonly text: string
  /** The alias or list that was expanded to this address. */
  readonly origin?: string | null
}

const MAX_TEXT = 60_000
const MAX_ENTRIES = 500

/** East Asian punctuation may touch an address without a space and is never part of one. */
const WIDE_PUNCTUATION = '：；，。、（）「」＜＞《》【】“”'
const ADDRESS =
  String.raw`(?:"(?:[^"\\\n]|\\.){1,64}"|[^\s<>()\[\]:;,"'@${WIDE_PUNCTUATION}]{1,128})` +
  String.raw`@[\w-]{1,63}(?:\.[\w-]{1,63}){0,20}`

/** The line at which the returned message begins. */
const DIVIDERS = new RegExp(
  [
    String.raw`^[ \t>]*[-=_*+]{2,}[ \t]*` +
      group(
        'this is a copy|below this line|enclosed is a copy|here is a copy',
        'original (?:message|mail)|(?:the )?(?:unsent|returned|rejected|failed|undelivered) (?:message|mail)',
        '(?:your |the )?(?:message|mail)(?: (?:header|body|text|contents?|follows))',
        'copy of|header|forwarded message|begin message|returned (?:message|mail)',
        'start of (?:the )?(?:returned|original)|included is a copy',
      ),
    String.raw`^[ \t]*` +
      group(
        'below is a copy of the original message|a copy of the original message',
        'the (?:original|returned) message (?:follows|is (?:attached|below|included))',
        'original message (?:follows|headers?:)|your original message (?:follows|is)',
        String.raw`(?:the )?(?:message|mail) headers? follows?|\*+ original message|received headers:?`,
      ),
    '^' +
      group('return-path|received|dkim-signature|x-received|domainkey-signature|x-google-dkim-signature|arc-seal') +
      String.raw`:[ \t]`,
  ].join('|'),
  'im',
)

/** Parses the texts for a human reader, except those in the returned message. */
export function parseNotice(mail: MimePart): DeliveryNotice {
  const whole = collectBodyTexts(mail).join('\n\n').slice(0, MAX_TEXT)
  const at = whole.search(DIVIDERS)
  const text = at < 0 ? whole : whole.slice(0, at)
  return { text, returned: at < 0 ? '' : whole.slice(at), entries: parseEntries(text) }
}

const RETURNED_TYPES =
  /^(?:message\/(?:rfc822|global|partial|delivery-status|global-delivery-status|feedback-report)|text\/rfc822-headers)/

function collectBodyTexts(mail: MimePart): string[] {
  const plain: string[] = []
  const html: MimePart[] = []
  const visit = (part: MimePart): void => {
    if (part.children.length > 0 && !RETURNED_TYPES.test(part.type)) part.children.forEach(visit)
    else if (part.type === 'text/html') html.push(part)
    else if (part.children.length === 0 && isNoticeText(part)) plain.push(decodeText(part))
  }
  visit(mail)
  return plain.some((text) => text.trim() !== '') ? plain : html.map((part) => textFromHtml(decodeText(part)))
}

function isNoticeText(part: MimePart): boolean {
  const isAttached = /^attachment/i.test(fieldValue(part.fields, 'content-disposition') ?? '')
  // a multipart without parts counts as one text
  return /^(?:text|multipart)\//.test(part.type) && !RETURNED_TYPES.test(part.type) && !isAttached
}

interface AddressPattern {
  readonly pattern: RegExp
  /** Patterns of rank 2 are used only if none of rank 1 matches. */
  readonly rank: 1 | 2
}

/** A label before a colon and the address. */
const LABEL = group(
  String.raw`recipients?|address(?:es)?|user(?:id)?|mailbox|addressed[ \t]to|error-for`,
  'destinataires?|destinat[áa]ri[oa]s?|empf[äa]e?nger|ontvanger|получатель|адрес',
  '宛先|収信者|受信者|收件人|收件者',
)

/** The first group is the address. The rest of the line belongs to it. */
const ADDRESS_PATTERNS: readonly AddressPattern[] = [
  {
    rank: 1,
    pattern: new RegExp(
      String.raw`^[ \t]*(?:>{1,3}[ \t]*)?(?:[-*•][ \t]+)?["']?<?(${ADDRESS})>?["']?[ \t]*` +
        String.raw`(?:<mailto:[^>]*>|\(mailto:[^)]*\)|<${ADDRESS}>|\([^)\n]*\)|\[[^\]\n]*\])?[ \t]*[.;,]?$`,
    ),
  },
  {
    rank: 1,
    pattern: new RegExp(
      String.raw`^[ \t]*(?:[-*•][ \t]+)?<?(${ADDRESS})>?[ \t]*(?:\([^)\n]*\))?[ \t]*` +
        String.raw`(?::|\.\.\.|,[ \t](?=ERROR|error)|[ \t]+on[ \t]+\S|[ \t]-+[ \t])`,
    ),
  },
  {
    rank: 1,
    pattern: new RegExp(String.raw`^[ \t]*[45]\d\d[ -](?:[245]\.\d+\.\d+[ \t])?<(${ADDRESS})>(?:\.\.\.|:|,)`),
  },
  { rank: 1, pattern: new RegExp(String.raw`^[ \t]*>>>[ \t]*RCPT TO:[ \t]*<?(${ADDRESS})>?`, 'i') },
  // an X.400 address as old Exchange writes it
  { rank: 1, pattern: new RegExp(String.raw`\bSMTP[=:](${ADDRESS})[;\]]`, 'i') },
  {
    rank: 1,
    pattern: new RegExp(
      String.raw`^[ \t]*(?:[\w-]{1,20}[ \t]){0,3}${LABEL}[ \t]*[:=：][ \t]*["'[]?(?:SMTP:)?<?(${ADDRESS})>?`,
      'i',
    ),
  },
  {
    rank: 2,
    pattern: new RegExp(
      String.raw`\b` +
        group(
          'delivered to|did not reach|could not be (?:sent|delivered)|recipients?|rcpt to|addressed to|affected',
          'permanent errors|undeliverable to|deliver(?:y)? (?:your |the |this )?(?:mail|message|e-?mail)? ?to',
        ) +
        String.raw`\b[^:<@\n]{0,80}[:<"' ]\s*<?(${ADDRESS})>?`,
      'i',
    ),
  },
  { rank: 2, pattern: new RegExp(String.raw`\bgenerated (?:from|by) <?(${ADDRESS})>?`, 'i') },
  {
    rank: 2,
    pattern: new RegExp(
      String.raw`\b(?:user|recipient|mailbox|account|address)\b[^@\n]{0,60}[(<" ](${ADDRESS})[)>" ]`,
      'i',
    ),
  },
]

/** Words before an address that is a sender, not a recipient. */
const SENDER_LEAD = anyOf(
  String.raw`\b` +
    group(
      'from|sender|sent by|contact|reply-to|questions|help|postmaster|administrator',
      'envelope[- ]from|mail from|hello|dear',
    ) +
    String.raw`\b[^@\n]{0,60}$`,
)

function parseEntries(text: string): NoticeEntry[] {
  const lines = text.split('\n')
  for (const rank of [1, 2] as const) {
    const entries = collectEntries(
      lines,
      ADDRESS_PATTERNS.filter((candidate) => candidate.rank === rank),
    )
    if (entries.length > 0) return entries
  }
  return []
}

function collectEntries(lines: readonly string[], patterns: readonly AddressPattern[]): NoticeEntry[] {
  const found = new Map<string, { address: string; text: string }>()
  let current: { address: string; text: string } | null = null
  let before = ''
  for (const line of lines) {
    const address = line.includes('@') ? findEntryAddress(line, before, patterns) : null
    if (address !== null && found.size < MAX_ENTRIES) {
      const key = address.toLowerCase()
      const entry: { address: string; text: string } = found.get(key) ?? { address, text: '' }
      found.set(key, entry)
      current = entry
    }
    if (current !== null) current.text += `${line.trim()}\n`
    if (line.trim() !== '') before = line
  }
  return [...found.values()].map((entry) => ({ ...entry, origin: findOrigin(entry.text) }))
}

/** Postfix and sendmail write "expanded from", Exim "generated from". */
const EXPANSION = /\((?:ultimately )?(?:expanded|generated) from:?\s{0,8}<?([^\s<>()]{1,320})>?\)/i
const MAX_ORIGIN_TEXT = 4000

/** The alias or list that a text names as the origin of its address; null if it names none. */
export function findOrigin(text: string): string | null {
  return EXPANSION.exec(text.slice(0, MAX_ORIGIN_TEXT))?.[1] ?? null
}

function findEntryAddress(line: string, before: string, patterns: readonly AddressPattern[]): string | null {
  for (const { pattern } of patterns) {
    const match = pattern.exec(line)
    const address = match?.[1]
    if (match === null || address === undefined) continue
    const lead = line.slice(0, match.index + match[0].indexOf(address))
    if (!SENDER_LEAD.test(lead) && !/\bsent by\s*$/i.test(before)) return address
  }
  return null
}

const MAX_LOCAL_PART = 128
const LOCAL_PART = new RegExp(String.raw`(?:"(?:[^"\\\n]|\\.){1,64}"|[^\s<>()[\]:;,"'@${WIDE_PUNCTUATION}]{1,128})$`)
const DOMAIN = /[\w-]{1,63}(?:\.[\w-]{1,63}){0,20}/y

/**
 * Finds every address in a text, once. It searches outwards from each @, because ADDRESS on a long text would try every
 * character as a start.
 */
export function findAddresses(text: string): string[] {
  const found = new Set<string>()
  let end = 0
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const local = LOCAL_PART.exec(text.slice(Math.max(end, at - MAX_LOCAL_PART), at))?.[0]
    DOMAIN.lastIndex = at + 1
    const domain = local === undefined ? undefined : DOMAIN.exec(text)?.[0]
    if (domain === undefined) continue
    end = at + 1 + domain.length
    found.add(`${local}@${domain}`)
  }
  return [...found]
}

/** Finds the header fields of the returned message: in its own MIME part, or in the text below the notice. */
export function findReturnedFields(
  mail: MimePart,
  notice: DeliveryNotice,
): { readonly name: string; readonly value: string }[] {
  for (const part of walkParts(mail)) {
    const inner = part.type.startsWith('message/rfc822') ? part.children[0] : undefined
    if (inner !== undefined && inner.fields.length > 0) return [...inner.fields]
  }
  const headers = [...walkParts(mail)].find(
    (part) => part.type === 'text/rfc822-headers' || part.type === 'message/rfc822-headers',
  )
  const text = headers === undefined ? notice.returned : decodeText(headers)
  return [
    ...text.matchAll(
      /^[ \t]*(to|from|message-id|return-path|cc|subject|x-failed-recipients):[ \t]*(.*(?:\n[ \t]+\S.*)*)/gim,
    ),
  ].map(([, name = '', value = '']) => ({ name: name.toLowerCase(), value: value.replace(/\n[ \t]+/g, ' ').trim() }))
}
