/**
 * Families of words that mail servers use for a failure, in English. A family gives a class; whether it condemns the address stands beside
 * it. Where a text says both, the softer reading comes first: a filter, a quota, a policy or a network never condemn an address. Rules are
 * written for how servers word things, never for one server's mail. Read by failure-text.ts.
 */
import { anyOf } from './text-patterns.ts'

export interface FailureClassification {
  readonly class: string
  /** The address, or its domain, will never take mail. */
  readonly isHard: boolean
  /** Only one server words it so, and means it, whenever it says it. */
  readonly isConclusive?: boolean
}

export interface FailurePattern extends FailureClassification {
  readonly pattern: RegExp
}

const soft = (name: string, pattern: RegExp): FailurePattern => ({ class: name, isHard: false, pattern })
const hard = (name: string, pattern: RegExp): FailurePattern => ({ class: name, isHard: true, pattern })

const ADDRESSEE =
  String.raw`(?:users?|recipients?|recipient ?address|mail ?box|mail ?drop|account|addressee|alias|e-?mail address|address|` +
  String.raw`customer|subscriber|` +
  String.raw`login|name|user ?id|person)`
const NEGATION =
  String.raw`(?:doe?s(?:n['’]?t| not)|do not|don't|did not|didn't|could not|couldn't|can(?:no|['’])t|` +
  String.raw`is(?:n['’]t| not)|was(?:n't| not)|are not|has not been|not)`
/** What is said of an address that nobody has. */
const DOES_NOT_EXIST =
  String.raw`(?:(?:is |are |was |were )?(?:unknown|invalid|undefined|non-?existent|inexistent|bad|illegal|removed|deleted|` +
  String.raw`unrecogni[sz]ed|undeliverable|closed|terminated|cancel+ed)\b|${NEGATION} (?:\S+ )?(?:exist|found|be found|known|listed|` +
  String.raw`valid|recogni[sz]ed|defined|registered|here|have (?:an?|any|such)|in (?:our|the|my)|a (?:valid|known|local|member)|local|` +
  String.raw`match|match\w*|hosted|identified|our (?:customer|user))|no longer (?:\S+ )?(?:exists?|valid|available|active|in use|` +
  String.raw`accepts? (?:e-?)?mail))`

/** First match wins. */
export const FAILURE_PATTERNS: readonly FailurePattern[] = [
  // an address that a directory refuses without saying that it is unknown: Microsoft's directory-based edge blocking
  hard('no-such-user', /\b5\.4\.1\b.{0,200}recipient\s+address(?:es)?\s+rejected\s*:\s+access\s+denied/is),
  // mail.ru's, which judges recipients after the message has come
  { ...hard('no-such-user', /message was not accepted -- invalid mailbox/i), isConclusive: true },
  // X.2.1: the mailbox is there, and takes no mail (RFC 3463 3.3)
  soft('mailbox-disabled', /\b[45]\.2\.[01]\b.{0,60}mailbox (?:is )?(?:not available|unavailable)/i),
  soft(
    'recipient-filter',
    anyOf(
      String.raw`recipient preferences|refused by (?:the )?recipient|rejected by (?:the )?(?:recipient's|user's|recipient) ?(?:filter|` +
        String.raw`settings|$)`,
      String.raw`blocked by (?:the )?recipient|\b550:? +: +user unknown|user (?:has )?refused|recipients? (?:has |have )(?:refused|` +
        String.raw`declined|rejected)`,
      String.raw`(?:not|no longer) accept(?:ed|ing)? (?:(?:e-?)?mails? |messages? )?from|(?:does not|doesn't) (?:wish|want) to receive`,
      String.raw`does not accept e?-?mails? (?:in|from|with|that)`,
    ),
  ),
  // RFC 6531 3.7.4.2
  soft('no-smtputf8', /\bsmtputf8\b|internationali[sz]ed (?:e-?mail )?address|\b[45]\.6\.[79]\b/i),
  hard('bad-address', /bad (?:recipient|destination|mailbox) address syntax/i),
  soft('virus', /\b(?:virus|infected|malware|trojan|worm)\b/i),
  soft(
    'authentication',
    anyOf(
      String.raw`\b(?:dmarc|spf|dkim|sender id)\b|unauthenticated|authentication (?:information|failed|check|required|level)`,
      String.raw`not authenticated|auth(?:entication)? required|auth failed|domain ?keys|user ?name (?:or|and) password|login (?:failed|` +
        String.raw`incorrect|denied)|smtp[- ]auth\w*|requires? authentication`,
    ),
  ),
  soft(
    'no-reverse-dns',
    anyOf(
      String.raw`\bptr\b|reverse[- ]?dns|\brdns\b|reverse (?:lookup|map|host)|unverif[iy]+able sending|mismatch(?:es)? client ip`,
      String.raw`without (?:valid )?(?:ptr|reverse)|cannot find your (?:hostname|reverse)`,
    ),
  ),
  soft(
    'relay-denied',
    anyOf(
      String.raw`relay(?:ing)? (?:access )?(?:is )?(?:denied|not (?:permitted|allowed)|prohibited|disallowed)`,
      String.raw`(?:not permitted|unable|cannot|unauthorized|will not|attempt) to relay|we do not relay|not an open relay`,
      String.raw`insecure mail relay|no relaying|(?:not|never) (?:been )?(?:configured|allowed|permitted) to (?:relay|let you)|not a gateway`,
      String.raw`relay (?:for|through) \S+ (?:is )?(?:denied|prohibited|not)|relaying to \S+ (?:is )?prohibited|as a relay|` +
        String.raw`unauthorized relay`,
      String.raw`isn['’]t (?:allowed to relay|in my (?:list|control))|\brcpthosts\b`,
    ),
  ),
  soft(
    'blocked',
    anyOf(
      String.raw`black[- ]?list|block[- ]?list|deny[- ]?list|\b(?:dns|ip)bl\b|\brbls?\b|spamhaus|spamcop|barracuda|\bblocked\b`,
      String.raw`\bbanned\b|reputation|invalid ip for sending`,
      String.raw`(?:client|sender(?! address)|your|sending|this)\s(?:ip|host|server|address|network)[^.]{0,40}(?:rejected|denied|refused|` +
        String.raw`not (?:allowed|accepted|permitted|authorized))`,
      String.raw`host network not allowed|use the smtp server of your isp|bad (?:ip|sender) |dynamic[- ]ip|dial-?up|black-?hole`,
      String.raw`(?:is|are|been) (?:currently )?(?:black)?listed (?:on|in|at|by)|\brbls?\d*\b|connection frequency|deny ?ip|abuse detected|` +
        String.raw`\bharvest`,
      String.raw`client host (?:rejected|bypass)|helo\b[^.\n]{0,40}(?:rejected|refused|denied|invalid|not found|blocked)`,
      String.raw`invalid (?:helo|ehlo)|(?:helo|ehlo) (?:command|name|argument)\b`,
    ),
  ),
  soft(
    'spam',
    anyOf(
      String.raw`\bspam\b|\bjunk\b|\bube\b|\buce\b|unsolicited|bulk (?:e-?)?mail|phish|content (?:was )?rejected`,
      String.raw`message content (?:is )?(?:not acceptable|rejected|blocked)|rejected (?:for|by) (?:policy|content)|spam-?trap`,
      String.raw`(?:mail|message|content) (?:\S+ )?(?:filtered|denied|refused(?! - (?:address|recipient|user)))|dt:spm|` +
        String.raw`anti-?spam|content (?:was )?reject|\bu[bc]e\b`,
    ),
  ),
  soft('greylisted', /gr[ae]y[- ]?list|^45\d 4\.7\.1 (?:please )?try again later\W*$|\bcome back in \d/i),
  soft(
    'throttled',
    anyOf(
      String.raw`too many(?! hops)|rate[- ]?limit|throttl|exceeded .{0,40}(?:rate|limit of (?:messages|connections|recipients))`,
      String.raw`submission ?quota|(?:sending|outgoing|outbound|daily|hourly) (?:\w+ ){0,2}(?:quota|limit)`,
      String.raw`(?:sending|message|connection) (?:rate|limit)|try (?:again )?(?:more slowly|slower)|unusual rate`,
      String.raw`max(?:imum)? (?:number of )?(?:connections|sessions)`,
    ),
  ),
  soft(
    'mailbox-full',
    anyOf(
      String.raw`over[- ]?quota|quota (?:is )?(?:exceeded|full|violation|reached|limit)`,
      String.raw`(?:exceed\w*|over|out of|beyond|full|reached)[^.\n]{0,50}(?:quota|storage|mailbox size|disk space)`,
      String.raw`(?:mail ?box|inbox|mail ?drop|account|mailfolder|maildir|user)\S{0,3} (?:is |was |has )?(?:full|over|exceeded)`,
      String.raw`mail ?box (?:size |storage )?limit (?:is |was |has been )?(?:exceeded|reached)`,
      String.raw`full (?:mail ?box|inbox)|insufficient (?:disk |system |storage |mailbox )*(?:space|storage|quota)|no space left`,
      String.raw`disk (?:quota|full|space)|delivery failed: over quota|mailbox.{0,30}(?:would exceed|exceeds)|\bmailfull\b`,
      String.raw`(?:not|n't) (?:have )?enough (?:\S+ )?space|space (?:is )?not enough|has run out of|out of storage|file too large|` +
        String.raw`size limit is`,
      String.raw`(?:exhausted|exceed\w*|exceeded|over) (?:the |his |her |its |their |allowed |your |maximum )*(?:allowed |storage |mailbox )` +
        String.raw`(?:storage|size|space|allocation|limit)|over-?quota|storage (?:is )?full|limit exe?c?eeded for this|` +
        String.raw`too many (?:mails|messages)` +
        String.raw` (?:on|in)`,
    ),
  ),
  soft('expired', /\b(?:message|mail) (?:has )?expired\b|\bin the queue (?:for )?too long/i),
  soft(
    'too-large',
    anyOf(
      String.raw`(?:message|mail|e-?mail|size|header|headers|line|data|it)\b[^.\n]{0,60}\b(?:too (?:large|big|long)|exceed\w*|` +
        String.raw`larger than|over)\b`,
      String.raw`\b(?:line|size) limit exceeded|max(?:imum)?(?: message)? (?:size|length)|too (?:large|big) (?:message|mail|for)`,
      String.raw`message too`,
    ),
  ),
  soft(
    'mailbox-disabled',
    anyOf(
      String.raw`\b(?:disabled(?:user)?|suspended|deactivated|in-?activ(?:e|ated|ity)|locked|on hold|not (?:active|activated)|dormant|` +
        String.raw`(?:account|mailbox|user) (?:has |is )?expired|expired (?:account|mailbox)|temporarily (?:closed|unavailable|limited)|` +
        String.raw`discontinued|out of service|not (?:currently |been )?(?:being )?(?:accepted for this|collected)|is restricted)\b`,
    ),
  ),
  soft(
    'sender-refused',
    anyOf(
      String.raw`sender (?:address |domain |verify |is |was |not |e-?mail )*(?:rejected|denied|refused|invalid|fail\w*|unknown|` +
        String.raw`blocked|verif\w+|not)`,
      String.raw`(?:invalid|bad|unroutable|unknown|forged|illegal) (?:sender|mail from|return[- ]path|envelope from)`,
      String.raw`domain of (?:the )?sender|from:? (?:address|domain|header)[^.\n]{0,40}(?:invalid|rejected|not)|addresses in from`,
      String.raw`cannot resolve your (?:address|domain)|my name was rejected|you are not allowed to (?:post|send)`,
      String.raw`not (?:have )?permi(?:tted|ssion)[^.\n]{0,20} to (?:post|send)|senders? not allowed`,
      String.raw`may not have permission to post|sender\b[^.\n]{0,40}\b(?:must|not in|resolv\w+|has no)|mail ?from\b[^.\n]{0,60}(?:fail|` +
        String.raw`mismatch)`,
      String.raw`verif\w* mail ?from|send(?:er|ing) domain|domain of sender|spf check|forger|no authorized sender|callout`,
      String.raw`(?:domain|it) may not exist or dns`,
      String.raw`\byour (?:domain|host ?name|mail server)\b|\byour (?:e-?mail )?(?:address|account) (?:is|was|does|has|could|can)\b`,
      String.raw`\byou(?:['’]re| are) (?:sending|writing|mailing) from|\byou (?:send|write|mail) from|sender address \S+ (?:is|was|does)\b`,
    ),
  ),
  soft(
    'message-refused',
    anyOf(
      String.raw`(?:header|message|mail|attachment|content|mime)\b[^.\n]{0,40}\b(?:error|not compliant|malformed|not accepted|` +
        String.raw`syntax|violat\w+|prohibited|not allowed|rejected due)`,
      String.raw`rfc ?[25]32[12]|multiple (?:from|addresses)|message-id|bare (?:lf|cr)|security (?:reason|policy|risk)`,
      String.raw`potential security`,
    ),
  ),
  soft(
    'policy',
    anyOf(
      String.raw`\bpolic(?:y|ies)\b|administrative(?:ly)? (?:prohibit\w*|denied)|not allowed to send`,
      String.raw`access (?:is |to this \S+ )?(?:denied|restricted|forbidden)|forbidden|local restrictions|not authori[sz]ed`,
    ),
  ),
  soft(
    'protocol',
    anyOf(
      String.raw`bad sequence|(?:command|parameters?|syntax) (?:error|unrecogni[sz]ed|not (?:implemented|recogni[sz]ed|supported))`,
      String.raw`syntax error|unsupported option|unrecogni[sz]ed (?:command|parameter)`,
    ),
  ),
  soft(
    'system',
    anyOf(
      String.raw`unknown (?:mailer )?error|mailer error|(?:unknown|undefined) (?:failure|problem|reason|response|delivery (?:mode|error))`,
      String.raw`\b(?:can't|cannot|couldn['’]t|could not|unable to) (?:create|open|write|lock|switch|append|access)\b|i\/o error`,
      String.raw`input\/output error|local configuration error|temporarily (?:not|fail\w*)`,
    ),
  ),
  hard(
    'moved',
    anyOf(
      String.raw`${ADDRESSEE}\b[^.\n]{0,60}\b(?:has moved|moved to|(?:has )?changed (?:his|her|their|its|to)|has (?:a )?new address)`,
      String.raw`\bhas moved; please try|no longer (?:on server|at this|works|with|uses|here)`,
      String.raw`address (?:has )?(?:been )?(?:changed|replaced)`,
    ),
  ),
  hard(
    'no-mail-accepted',
    anyOf(
      String.raw`(?:host|domain|server|address)[^.\n]{0,40}(?:does not|doesn't|do not|never) accept (?:any )?(?:e-?)?mails?`,
      String.raw`\bnull ?mx\b|no mail (?:service|exchanger) (?:is )?(?:here|accepted)|destination seem to reject all mails`,
      String.raw`not accept(?:ing)? any (?:mail|message)|indicated no smtp service|no smtp service here`,
    ),
  ),
  // the name servers did not answer, which says nothing of the domain
  soft('network', /host not found[,:;]? (?:please )?try again|temporary (?:dns|name|lookup)|\bservfail\b/i),
  hard(
    'no-such-domain',
    anyOf(
      String.raw`\b(?:unknown|no such|non-?existent|illegal|invalid|unrout(?:e)?able)(?: mail)? (?:host|domain|hostname|` +
        String.raw`domain name)\b`,
      String.raw`\bhost (?:or domain name )?(?:is )?(?:unknown|not found)`,
      String.raw`\b(?:domain|host|hostname)(?: name)?\b(?:\s+\S{0,99}[^\s.:;!?,]){0,6}?[\s:]*(?:${NEGATION} (?:exist|valid|found|be found|` +
        String.raw`resolve)|unknown|not found|has no)`,
      // a domain that is not reachable is Outlook's word for one that is not there; of a host it is the network
      String.raw`\bdomain is not reachable`,
      String.raw`couldn'?t find any host|unrout(?:e)?able address|no such (?:dns )?(?:record|domain)|name or service not known`,
      String.raw`illegal host\/domain|account or domain may not exist|bad destination (?:system|host)|mx records point to non-?existent`,
      String.raw`non-?existent ?domain|couldn['’]?t find a mail exchanger|all host address lookups failed permanently|no (?:valid |` +
        String.raw`usable )?mx (?:hosts?|records?|found)\b`,
      String.raw`(?:tenant or |recipient )?domain (?:was )?not found`,
    ),
  ),
  hard(
    'no-such-user',
    anyOf(
      String.raw`\b(?:unknown|no such|non-?existent|invalid|illegal|bad|no|wrong|undefined|not a (?:valid|known|local))` +
        String.raw`(?: or illegal| local| virtual| e-?mail| destination| recipient| target| receiver| final| delivery|` +
        String.raw` user){0,2} (?:${ADDRESSEE}|` +
        String.raw`person|id|e-?mail|mailbox address)\b`,
      // gateways to phones
      String.raw`no valid recipients for this (?:mm|multimedia)`,
      // the words between do not run over the end of a sentence
      String.raw`\b${ADDRESSEE}\b[^\s\w]{0,6}(?:\s+\S{0,99}[^\s.:;!?,]){0,6}?[\s:]*(?<!\w)${DOES_NOT_EXIST}`,
      String.raw`@[\w.-]{1,99}[^\s\w]{0,6}\s*(?:(?:user|recipient|address|mailbox) )?${DOES_NOT_EXIST}`,
      String.raw`no (?:mail ?box|user|account|person|one|recipient)[^.\n]{0,20} (?:here|by|with|at) (?:that|this|by)`,
      String.raw`there is no (?:\S+ )?(?:user|account|mailbox|one)`,
      String.raw`(?:requested action not taken: |550 (?:5\.\d\.\d )?)mailbox (?:is )?(?:unavailable|not available)`,
      String.raw`not (?:our|an?) (?:\S+ )?(?:customer|user|users|subscriber|recipient)\b`,
      String.raw`delivery not authorized, message refused: unknown`,
      String.raw`(?:could not|couldn't|can(?:no|')t|unable to) (?:be )?(?:found?|find|resolve|locate) (?:\S+ ){0,2}${ADDRESSEE}`,
      String.raw`(?:doesn['’]t|does not|do not) have an? (?:\S+ )?account|no (?:such )?(?:\S+ )?(?:account|user) (?:here )?by that name`,
      String.raw`not (?:present|found) in (?:the |our )?(?:directory|ldap|database)|handle mail for (?:that|this) user|` +
        String.raw`\b5\.1\.0 address rejected`,
      String.raw`recipients? (?:cannot|can't|could not) be verified|recip(?:ient)?notfound|\bnosuchuser\b|\bno_such_user\b`,
    ),
  ),
  soft('loop', /hop count|mail loop|routing loop|loops? back|too many hops|looping/i),
  soft('tls', /\bstarttls\b|not support tls|tls (?:required|negotiation|handshake|not)/i),
  soft(
    'expired',
    anyOf(
      String.raw`expired|(?:retry|delivery) time(?:out)?(?: has)? (?:been )?exceeded|too long|gi(?:ve|ven|ving) up`,
      String.raw`(?:unable|failed) to deliver (?:\S+ ){0,4}(?:in|after|within) \d+|not delivered within|queue (?:lifetime|time)`,
      String.raw`all hosts (?:have been )?fail`,
    ),
  ),
  soft(
    'network',
    anyOf(
      String.raw`time[ds]?[- ]?out|connection (?:was )?(?:refused|reset|dropped|closed|lost|failed)|no route to host`,
      String.raw`network (?:is )?(?:error|unreachable|down)|not respond`,
      String.raw`(?:could not|couldn't|unable to|failed to|can't) (?:connect|contact|establish)|connect to`,
      String.raw`dns (?:error|failure|query|lookup)|name ?server|name service|(?:host |un|not )reachable`,
      String.raw`(?:server|service|host)[^.\n]{0,30}(?:unavailable|not available|down)|lost connection|socket error`,
      String.raw`did not accept our requests to connect`,
    ),
  ),
  soft(
    'system',
    anyOf(
      String.raw`system (?:error|full|problem|config)|internal (?:server |system |software )?error|local (?:configuration )?error`,
      String.raw`(?:can't|cannot|could not) (?:create|write|open|lock)|i\/o error|config(?:uration)? (?:error|problem)`,
      String.raw`temporar(?:y|ily)|try (?:again )?later|service (?:currently )?(?:unavailable|not available)`,
    ),
  ),
]
