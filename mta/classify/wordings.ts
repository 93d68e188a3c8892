/**
 * What a failure text says, by families of words that mail servers use. A family gives a class; whether it condemns the address stands
 * beside it. Only words about the address itself, or about its domain, are hard: a filter, a quota, a policy or a network never condemn an
 * address, and where a text says both, the softer reading comes first. What the words leave open is asked of the status code (RFC 3463).
 * The one truth for replies in the conversation (reply.ts) and for reports (report.ts).
 */

import { words } from './words.ts'

/** The SMTP command whose answer it was, where the text tells. */
export type Command = 'connect' | 'mail' | 'rcpt' | 'data'

export interface Reading {
  readonly class: string
  /** The address, or its domain, will never take mail. */
  readonly isHard: boolean
}

interface Wording extends Reading {
  readonly says: RegExp
}

const soft = (name: string, says: RegExp): Wording => ({ class: name, isHard: false, says })
const hard = (name: string, says: RegExp): Wording => ({ class: name, isHard: true, says })

const WHO = String.raw`(?:user|users|recipient|recipients|mailbox|account|addressee|alias|e-?mail address|address|`
  + String.raw`customer|subscriber|login|name)`
const NEGATED = String.raw`(?:does(?:n't| not)|do not|don't|did not|didn't|could not|couldn't|can(?:no|')t|cannot|`
  + String.raw`is(?:n't| not)|was(?:n't| not)|are not|has not been|not)`

/** First match wins. */
const WORDINGS: readonly Wording[] = [
  // an address that a directory refuses without saying that it is unknown: Microsoft's directory-based edge blocking
  hard('no-such-user', /\b5\.4\.1\b.{0,200}recipient\s+address\s+rejected:\s+access\s+denied/is),
  // mail.ru's, whose first words blame the message
  hard('no-such-user', /message was not accepted -- invalid mailbox/i),
  soft('recipient-filter', words(
    String.raw`recipient preferences|refused by the recipient|rejected by (?:the )?(?:recipient's|user's) (?:filter|settings)`,
    String.raw`blocked by (?:the )?recipient|\b550\s*:\s*:?\s*user unknown`,
  )),
  soft('virus', /\b(?:virus|infected|malware|trojan|worm)\b/i),
  soft('authentication', words(
    String.raw`\b(?:dmarc|spf|dkim|sender id)\b|unauthenticated|authentication (?:information|failed|check|required|level)`,
    String.raw`not authenticated|auth(?:entication)? required`,
  )),
  soft('no-reverse-dns', words(
    String.raw`\bptr\b|reverse[- ]?dns|\brdns\b|reverse (?:lookup|map|host)|unverif[iy]+able sending|mismatch(?:es)? client ip`,
    String.raw`without (?:valid )?(?:ptr|reverse)|cannot find your (?:hostname|reverse)`,
  )),
  soft('relay-denied', words(
    String.raw`relay(?:ing)? (?:access )?(?:is )?(?:denied|not (?:permitted|allowed)|prohibited|disallowed)`,
    String.raw`(?:not permitted|unable|cannot|unauthorized|will not|attempt) to relay|we do not relay|not an open relay`,
    String.raw`insecure mail relay`,
  )),
  soft('blocked', words(
    String.raw`black[- ]?list|block[- ]?list|deny[- ]?list|\b(?:dns|ip)bl\b|\brbls?\b|spamhaus|spamcop|barracuda|\bblocked\b`,
    String.raw`\bbanned\b|reputation|invalid ip for sending`,
    String.raw`(?:client|sender|your|sending|this)\s(?:ip|host|server|address|network)[^.]{0,40}(?:rejected|denied|refused|`
      + String.raw`not (?:allowed|accepted|permitted|authorized))`,
    String.raw`host network not allowed|use the smtp server of your isp|bad (?:ip|sender) `,
  )),
  soft('spam', words(
    String.raw`\bspam\b|\bjunk\b|\bube\b|\buce\b|unsolicited|bulk (?:e-?)?mail|phish|content (?:was )?rejected`,
    String.raw`message content (?:is )?(?:not acceptable|rejected|blocked)|rejected (?:for|by) (?:policy|content)`,
  )),
  soft('greylisted', /gr[ae]y[- ]?list/i),
  soft('throttled', words(
    String.raw`too many|rate[- ]?limit|throttl|exceeded .{0,40}(?:rate|limit of (?:messages|connections|recipients))`,
    String.raw`(?:sending|message|connection) (?:rate|limit)|try (?:again )?(?:more slowly|slower)|unusual rate`,
    String.raw`max(?:imum)? (?:number of )?(?:connections|sessions)`,
  )),
  soft('mailbox-full', words(
    String.raw`over[- ]?quota|quota (?:is )?(?:exceeded|full|violation|reached|limit)`,
    String.raw`(?:exceed\w*|over|out of|beyond|full|reached)[^.\n]{0,50}(?:quota|storage|mailbox size|disk space)`,
    String.raw`(?:mail ?box|inbox|mail ?drop|account|mailfolder|maildir|user)\S{0,3} (?:is |was |has )?(?:full|over|exceeded)`,
    String.raw`full (?:mail ?box|inbox)|insufficient (?:disk |system |storage |mailbox )*(?:space|storage|quota)|no space left`,
    String.raw`disk (?:quota|full|space)|delivery failed: over quota|mailbox.{0,30}(?:would exceed|exceeds)|\bmailfull\b`,
    String.raw`not enough (?:storage|disk) space|has run out of space`,
  )),
  soft('too-large', words(
    String.raw`(?:message|mail|e-?mail|size|header|headers|line|data|it)\b[^.\n]{0,60}\b(?:too (?:large|big|long)|exceed\w*|`
      + String.raw`larger than|over)\b`,
    String.raw`\b(?:line|size) limit exceeded|max(?:imum)?(?: message)? (?:size|length)|too (?:large|big) (?:message|mail|for)`,
    String.raw`message too`,
  )),
  soft('mailbox-disabled', words(
    String.raw`\b(?:disabled|suspended|deactivated|in-?activ(?:e|ated|ity)|locked|on hold|not active|dormant|expired account|`
      + String.raw`account (?:has )?expired|temporarily (?:closed|unavailable)|discontinued|out of service)\b`,
  )),
  soft('sender-refused', words(
    String.raw`sender (?:address |domain |verify |is |was |not |e-?mail )*(?:rejected|denied|refused|invalid|fail\w*|unknown|`
      + String.raw`blocked|verif\w+|not)`,
    String.raw`(?:invalid|bad|unroutable|unknown|forged|illegal) (?:sender|mail from|return[- ]path|envelope from)`,
    String.raw`domain of (?:the )?sender|from:? (?:address|domain|header)[^.\n]{0,40}(?:invalid|rejected|not)|addresses in from`,
    String.raw`cannot resolve your (?:address|domain)|my name was rejected|you are not allowed to (?:post|send)`,
    String.raw`not (?:have )?permi(?:tted|ssion)[^.\n]{0,20} to (?:post|send)|senders? not allowed`,
    String.raw`may not have permission to post`,
  )),
  soft('message-refused', words(
    String.raw`(?:header|message|mail|attachment|content|mime)\b[^.\n]{0,40}\b(?:error|not compliant|malformed|not accepted|`
      + String.raw`syntax|violat\w+|prohibited|not allowed|rejected due)`,
    String.raw`rfc ?[25]32[12]|multiple (?:from|addresses)|message-id|bare (?:lf|cr)|security (?:reason|policy|risk)`,
    String.raw`potential security`,
  )),
  soft('policy', words(
    String.raw`\bpolic(?:y|ies)\b|administrative(?:ly)? (?:prohibit\w*|denied)|not allowed to send`,
    String.raw`access (?:is |to this \S+ )?(?:denied|restricted|forbidden)|forbidden|local restrictions|not authori[sz]ed`,
  )),
  hard('moved', words(
    String.raw`${WHO}\b[^.\n]{0,60}\b(?:has moved|moved to|(?:has )?changed (?:his|her|their|its|to)|has (?:a )?new address)`,
    String.raw`\bhas moved; please try|no longer (?:on server|at this|works|with|uses|here)`,
    String.raw`address (?:has )?(?:been )?(?:changed|replaced)`,
  )),
  hard('no-mail-accepted', words(
    String.raw`(?:host|domain|server|address)[^.\n]{0,40}(?:does not|doesn't|do not|never) accept (?:any )?(?:e-?)?mails?`,
    String.raw`\bnull ?mx\b|no mail (?:service|exchanger) (?:is )?(?:here|accepted)|destination seem to reject all mails`,
    String.raw`not accept(?:ing)? any (?:mail|message)`,
  )),
  hard('no-such-domain', words(
    String.raw`\b(?:unknown|no such|non-?existent|illegal|invalid|unrout(?:e)?able)(?: mail)? (?:host|domain|hostname|`
      + String.raw`domain name)\b`,
    String.raw`\bhost (?:or domain name )?(?:is )?(?:unknown|not found)`,
    String.raw`\b(?:domain|host|hostname)(?: name)?\b[^.\n]{0,60}\b(?:${NEGATED} (?:exist|valid|found|be found|reachable|`
      + String.raw`resolve)|unknown|not found|has no)`,
    String.raw`couldn'?t find any host|unrout(?:e)?able address|no such (?:dns )?(?:record|domain)|name or service not known`,
    String.raw`illegal host\/domain|account or domain may not exist|bad destination (?:system|host)`,
  )),
  hard('no-such-user', words(
    String.raw`\b(?:unknown|no such|non-?existent|invalid|illegal|bad|no|wrong|undefined|not a (?:valid|known|local))`
      + String.raw`(?: or illegal| local| virtual| e-?mail| destination| recipient| target| receiver| final| user|)? (?:${WHO}|`
      + String.raw`person|id|e-?mail|mailbox address)\b`,
    String.raw`\b${WHO}\b[^\s\w]{0,6}(?:\s+\S{1,100}){0,6}?\s*(?<!\w)(?:(?:is |are |was |were )?(?:unknown|invalid|undefined|`
      + String.raw`non-?existent|inexistent|bad|illegal|removed|deleted|closed|terminated|cancel+ed)\b|`
      + String.raw`${NEGATED} (?:\S+ )?(?:exist|found|be found|known|listed|valid|recogni[sz]ed|defined|registered|here|`
      + String.raw`have (?:an?|any|such)|in (?:our|the|my)|a (?:valid|known|local|member)|local|match|match\w*|hosted|identified|`
      + String.raw`our (?:customer|user))|no longer (?:\S+ )?(?:exists?|valid|available|active|in use))`,
    String.raw`no (?:mail ?box|user|account|person|one|recipient)[^.\n]{0,20} (?:here|by|with|at) (?:that|this|by)`,
    String.raw`there is no (?:\S+ )?(?:user|account|mailbox|one)`,
    String.raw`(?:requested action not taken: |550 (?:5\.\d\.\d )?)mailbox (?:is )?unavailable`,
    String.raw`not (?:our|a) (?:local )?(?:customer|user|subscriber|recipient)`,
    String.raw`delivery not authorized, message refused: unknown`,
    String.raw`(?:could not|couldn't|cannot) (?:be )?(?:found?|find|resolve|locate) (?:the |this |that )?${WHO}`,
    String.raw`address not present in (?:the )?directory|not present in directory`,
    String.raw`(?:adresse|destinataire|utilisateur|compte)\b[^.\n]{0,40}(?:invalide|inconnue?|inexistante?|n'existe pas)`,
    String.raw`(?:empf[äa]e?nger|benutzer|postfach|adresse)\b[^.\n]{0,40}(?:unbekannt|ung[üu]e?ltig|existiert nicht|`
      + String.raw`nicht gefunden)`,
    String.raw`(?:usuario|destinatario|utente|casella|cuenta|direcci[óo]n|conta|usu[áa]rio)\b[^.\n]{0,40}(?:no existe|`
      + String.raw`desconocid[oa]|inesistente|sconosciut[oa]|non esiste|n[ãa]o existe|inv[áa]lid[oa]|inexistente)`,
    String.raw`recip(?:ient)?notfound|\bnosuchuser\b|\bno_such_user\b`,
  )),
  soft('loop', /hop count|mail loop|routing loop|loops? back|too many hops|looping/i),
  soft('tls', /\bstarttls\b|not support tls|tls (?:required|negotiation|handshake|not)/i),
  soft('expired', words(
    String.raw`expired|(?:retry|delivery) time(?:out)?(?: has)? (?:been )?exceeded|too long|gi(?:ve|ven|ving) up`,
    String.raw`(?:unable|failed) to deliver (?:\S+ ){0,4}(?:in|after|within) \d+|not delivered within|queue (?:lifetime|time)`,
    String.raw`all hosts (?:have been )?fail`,
  )),
  soft('network', words(
    String.raw`time[ds]?[- ]?out|connection (?:was )?(?:refused|reset|dropped|closed|lost|failed)|no route to host`,
    String.raw`network (?:is )?(?:error|unreachable|down)|not respond`,
    String.raw`(?:could not|couldn't|unable to|failed to|can't) (?:connect|contact|establish)|connect to`,
    String.raw`dns (?:error|failure|query|lookup)|name ?server|name service|host unreachable`,
    String.raw`(?:server|service|host)[^.\n]{0,30}(?:unavailable|not available|down)|lost connection|socket error`,
    String.raw`did not accept our requests to connect`,
  )),
  soft('system', words(
    String.raw`system (?:error|full|problem|config)|internal (?:server |system |software )?error|local (?:configuration )?error`,
    String.raw`(?:can't|cannot|could not) (?:create|write|open|lock)|i\/o error|config(?:uration)? (?:error|problem)`,
    String.raw`temporar(?:y|ily)|try (?:again )?later|service (?:currently )?(?:unavailable|not available)`,
  )),
]

/** Status codes without their class (RFC 3463 and the IANA registry), for texts whose words say nothing. First match wins. */
const STATUSES: readonly { readonly code: RegExp; readonly reading: Reading }[] = [
  { code: /^1\.(?:1|351)$/, reading: { class: 'no-such-user', isHard: true } },
  { code: /^1\.(?:2|10)$/, reading: { class: 'no-such-domain', isHard: true } },
  { code: /^1\.3$/, reading: { class: 'bad-address', isHard: true } },
  { code: /^1\.6$/, reading: { class: 'moved', isHard: true } },
  { code: /^1\.[4-9]$|^1\.0$/, reading: { class: 'address', isHard: false } },
  { code: /^2\.1$/, reading: { class: 'mailbox-disabled', isHard: false } },
  { code: /^2\.2$/, reading: { class: 'mailbox-full', isHard: false } },
  { code: /^(?:2\.3|3\.4)$/, reading: { class: 'too-large', isHard: false } },
  { code: /^2\./, reading: { class: 'mailbox', isHard: false } },
  { code: /^3\./, reading: { class: 'system', isHard: false } },
  { code: /^4\.7$/, reading: { class: 'expired', isHard: false } },
  { code: /^4\./, reading: { class: 'network', isHard: false } },
  { code: /^5\./, reading: { class: 'protocol', isHard: false } },
  { code: /^6\./, reading: { class: 'message-refused', isHard: false } },
  { code: /^7\./, reading: { class: 'policy', isHard: false } },
]

const UNKNOWN: Reading = { class: 'unknown', isHard: false }

/** `text` is what the server said; `status` an enhanced code, or null. The text decides where it says something. */
export function readFailure(text: string, status: string | null, command: Command | null): Reading {
  const reading = readWords(text.slice(0, 4000)) ?? readStatus(status)
  if (!reading.isHard) return reading
  // an answer to the sender, or before any recipient was named, says nothing of the recipient
  if (command === 'mail' || command === 'connect') return { class: 'sender-refused', isHard: false }
  return reading
}

/**
 * Words alone, beside a status code that names another fault or none, condemn an address only where the server said them to RCPT: filters
 * say "user unknown" too, most of all when the content was there. A notice without any code is an old server's own; its words are all
 * there is.
 */
export function isConfirmed(reading: Reading, status: string | null, command: Command | null): boolean {
  if (reading.class !== 'no-such-user' || command === 'rcpt') return true
  return status === null ? command !== 'data' : /^[245]\.(?:1\.\d+|2\.1|4\.1)$/.test(status)
}

function readWords(text: string): Reading | null {
  const found = WORDINGS.find(({ says }) => says.test(text))
  return found === undefined ? null : { class: found.class, isHard: found.isHard }
}

function readStatus(status: string | null): Reading {
  if (status === null) return UNKNOWN
  const detail = status.slice(2)
  const found = STATUSES.find(({ code }) => code.test(detail))?.reading ?? UNKNOWN
  return status.startsWith('4') ? { ...found, isHard: false } : found
}

const COMMANDS: readonly (readonly [Command, RegExp])[] = [
  ['data', words(
    String.raw`end of (?:the )?(?:data|message)|in reply to (?:end of )?data|after (?:sending )?data|failed after i sent the message`,
    String.raw`\(data\)|>>> data\b|message body|after pipelined data`,
  )],
  ['rcpt', /(?:in reply to rcpt|after rcpt|\brcpt[ _]to\b|>>> rcpt|does not like recipient|rejected address\b)/i],
  ['mail', /(?:in reply to mail|after mail from|>>> mail from|does not like (?:the )?sender|my name was rejected|\bmail[ _]from\b)/i],
  ['connect', words(
    String.raw`in reply to (?:initial|helo|ehlo)|after (?:initial connection|helo|ehlo)|while talking to \S+ greeting`,
    String.raw`host \S+ refused to talk`,
  )],
]

export function commandOf(text: string): Command | null {
  return COMMANDS.find(([, says]) => says.test(text))?.[0] ?? null
}

/** The last enhanced code in a text: where servers repeat each other, the innermost stands last. */
export function statusIn(text: string): string | null {
  const found = [...text.matchAll(/(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/g)].map(([, code]) => code ?? '')
  return found.at(-1) ?? null
}
