/**
 * English failure texts about the sender or the message: authentication, reputation, policy, rate and content. They
 * never lead to a hard bounce. Used in order by failure-patterns.ts.
 */
import { anyOf, group } from './text-patterns.ts'

export const AUTHENTICATION = anyOf(
  String.raw`\b(?:dmarc|spf|dkim|sender id)\b|unauthenticated`,
  'authentication (?:information|failed|check|required|level)',
  'not authenticated|auth(?:entication)? required|auth failed|domain ?keys|user ?name (?:or|and) password',
  String.raw`login (?:failed|incorrect|denied)|smtp[- ]auth\w*|requires? authentication`,
)

export const NO_REVERSE_DNS = anyOf(
  String.raw`\bptr\b|reverse[- ]?dns|\brdns\b|reverse (?:lookup|map|host)|unverif[iy]+able sending`,
  'mismatch(?:es)? client ip',
  'without (?:valid )?(?:ptr|reverse)|cannot find your (?:hostname|reverse)',
)

export const RELAY_DENIED = anyOf(
  'relay(?:ing)? (?:access )?(?:is )?(?:denied|not (?:permitted|allowed)|prohibited|disallowed)',
  '(?:not permitted|unable|cannot|unauthorized|will not|attempt) to relay|we do not relay|not an open relay',
  'insecure mail relay|no relaying|(?:not|never) (?:been )?(?:configured|allowed|permitted) to (?:relay|let you)',
  'not a gateway',
  String.raw`relay (?:for|through) \S+ (?:is )?(?:denied|prohibited|not)|relaying to \S+ (?:is )?prohibited`,
  'as a relay|unauthorized relay',
  String.raw`isn['’]t (?:allowed to relay|in my (?:list|control))|\brcpthosts\b`,
)

export const BLOCKED = anyOf(
  String.raw`black[- ]?list|block[- ]?list|deny[- ]?list|\b(?:dns|ip)bl\b|\brbls?\b|spamhaus|spamcop|barracuda`,
  String.raw`\bblocked\b`,
  String.raw`\bbanned\b|reputation|invalid ip for sending`,
  String.raw`(?:client|sender(?! address)|your|sending|this)\s(?:ip|host|server|address|network)[^.]{0,40}` +
    '(?:rejected|denied|refused|not (?:allowed|accepted|permitted|authorized))',
  'host network not allowed|use the smtp server of your isp|bad (?:ip|sender) |dynamic[- ]ip|dial-?up',
  'black-?hole',
  String.raw`(?:is|are|been) (?:currently )?(?:black)?listed (?:on|in|at|by)|\brbls?\d*\b|connection frequency`,
  String.raw`deny ?ip|abuse detected|\bharvest`,
  'client host (?:rejected|bypass)',
  String.raw`helo\b[^.\n]{0,40}(?:rejected|refused|denied|invalid|not found|blocked)`,
  String.raw`invalid (?:helo|ehlo)|(?:helo|ehlo) (?:command|name|argument)\b`,
)

/** A block list by its name, its host name or a link to it, which maskNames would remove; not a list of causes. */
export const QUOTED_BLOCKLIST = anyOf(
  String.raw`\b(?:spamhaus|spamcop|barracudacentral|uceprotect|abuseat|sorbs|surbl|uribl|invaluement|spamrats)\b`,
  String.raw`\b(?:senderscore|mailspike|nixspam|psbl|backscatterer|dronebl|blocklist\.de|hostkarma|manitu)\b`,
  String.raw`(?<![\w-])(?:dns|ip|uri|sur|s|x|p|c|ps|r|h|d)?bls?\d?(?:-[\w-]{1,40})?\.[\w-]{1,63}\.\w`,
  String.raw`\b(?:dns|ip|r)bls?\b`,
  String.raw`\b(?<!(?:may|might|could) be )(?:black|block|deny)[- ]?list(?:ed|ing|s)?\b`,
)

export const SPAM = anyOf(
  String.raw`\bspam\b|\bjunk\b|\bube\b|\buce\b|unsolicited|bulk (?:e-?)?mail|phish|content (?:was )?rejected`,
  'message content (?:is )?(?:not acceptable|rejected|blocked)|rejected (?:for|by) (?:policy|content)|spam-?trap',
  String.raw`(?:mail|message|content) (?:\S+ )?(?:filtered|denied|refused(?! - (?:address|recipient|user)))`,
  String.raw`dt:spm|anti-?spam|content (?:was )?reject|\bu[bc]e\b`,
)

export const THROTTLED = anyOf(
  'too many(?! hops)|rate[- ]?limit|throttl',
  'exceeded .{0,40}(?:rate|limit of (?:messages|connections|recipients))',
  String.raw`submission ?quota|(?:sending|outgoing|outbound|daily|hourly) (?:\w+ ){0,2}(?:quota|limit)`,
  '(?:sending|message|connection) (?:rate|limit)|try (?:again )?(?:more slowly|slower)|unusual rate',
  'max(?:imum)? (?:number of )?(?:connections|sessions)',
)

export const TOO_LARGE = anyOf(
  String.raw`(?:message|mail|e-?mail|size|header|headers|line|data|it)\b[^.\n]{0,60}\b` +
    String.raw`(?:too (?:large|big|long)|exceed\w*|larger than|over)\b`,
  String.raw`\b(?:line|size) limit exceeded|max(?:imum)?(?: message)? (?:size|length)`,
  'too (?:large|big) (?:message|mail|for)',
  'message too',
)

export const SENDER_REFUSED = anyOf(
  'sender (?:address |domain |verify |is |was |not |e-?mail )*' +
    String.raw`(?:rejected|denied|refused|invalid|fail\w*|unknown|blocked|verif\w+|not)`,
  '(?:invalid|bad|unroutable|unknown|forged|illegal) (?:sender|mail from|return[- ]path|envelope from)',
  String.raw`domain of (?:the )?sender|from:? (?:address|domain|header)[^.\n]{0,40}(?:invalid|rejected|not)`,
  'addresses in from',
  'cannot resolve your (?:address|domain)|my name was rejected|you are not allowed to (?:post|send)',
  String.raw`not (?:have )?permi(?:tted|ssion)[^.\n]{0,20} to (?:post|send)|senders? not allowed`,
  String.raw`may not have permission to post|sender\b[^.\n]{0,40}\b(?:must|not in|resolv\w+|has no)`,
  String.raw`mail ?from\b[^.\n]{0,60}(?:fail|mismatch)`,
  String.raw`verif\w* mail ?from|send(?:er|ing) domain|domain of sender|spf check|forger|no authorized sender`,
  'callout',
  '(?:domain|it) may not exist or dns',
  String.raw`\byour (?:domain|host ?name|mail server)\b`,
  String.raw`\byour (?:e-?mail )?(?:address|account) (?:is|was|does|has|could|can)\b`,
  String.raw`\byou(?:['’]re| are) (?:sending|writing|mailing) from|\byou (?:send|write|mail) from`,
  String.raw`sender address \S+ (?:is|was|does)\b`,
)

export const MESSAGE_REFUSED = anyOf(
  String.raw`(?:header|message|mail|attachment|content|mime)\b[^.\n]{0,40}\b` +
    group(String.raw`error|not compliant|malformed|not accepted|syntax|violat\w+|prohibited|not allowed|rejected due`),
  'rfc ?[25]32[12]|multiple (?:from|addresses)|message-id|bare (?:lf|cr)|security (?:reason|policy|risk)',
  'potential security',
)

export const POLICY = anyOf(
  String.raw`\bpolic(?:y|ies)\b|administrative(?:ly)? (?:prohibit\w*|denied)|not allowed to send`,
  String.raw`access (?:is |to this \S+ )?(?:denied|restricted|forbidden)|forbidden|local restrictions`,
  'not authori[sz]ed',
)
