/**
 * English failure texts about the recipient: the address, its mailbox or its domain. Write a pattern for the wording
 * that servers share, never for the mail of a single server. Used in order by failure-patterns.ts.
 */
import { anyOf, group } from './text-patterns.ts'

/** Words for a recipient. */
const ADDRESSEE = group(
  'users?|recipients?|recipient ?address|mail ?box|mail ?drop|account|addressee|alias|e-?mail address|address',
  'customer|subscriber|login|name|user ?id|person',
)

const NEGATION = group(
  "doe?s(?:n['’]?t| not)|do not|don't|did not|didn't|could not|couldn't|can(?:no|['’])t|is(?:n['’]t| not)",
  "was(?:n't| not)|are not|has not been|not",
)

/** Words for an address that does not exist. */
const DOES_NOT_EXIST = group(
  '(?:is |are |was |were )?' +
    group(
      'unknown|invalid|undefined|non-?existent|inexistent|bad|illegal|removed|deleted|unrecogni[sz]ed',
      'undeliverable|closed|terminated|cancel+ed',
    ) +
    String.raw`\b`,
  String.raw`${NEGATION} (?:\S+ )?` +
    group(
      'exist|found|be found|known|listed|valid|recogni[sz]ed|defined|registered|here|have (?:an?|any|such)',
      String.raw`in (?:our|the|my)|a (?:valid|known|local|member)|local|match|match\w*|hosted|identified`,
      'our (?:customer|user)',
    ),
  String.raw`no longer (?:\S+ )?(?:exists?|valid|available|active|in use|accepts? (?:e-?)?mail)`,
)

export const RECIPIENT_FILTER = anyOf(
  'recipient preferences|refused by (?:the )?recipient',
  "rejected by (?:the )?(?:recipient's|user's|recipient) ?(?:filter|settings|$)",
  String.raw`blocked by (?:the )?recipient|\b550:? +: +user unknown|user (?:has )?refused`,
  'recipients? (?:has |have )(?:refused|declined|rejected)',
  '(?:not|no longer) accept(?:ed|ing)? (?:(?:e-?)?mails? |messages? )?from',
  "(?:does not|doesn't) (?:wish|want) to receive",
  'does not accept e?-?mails? (?:in|from|with|that)',
)

export const MAILBOX_FULL = anyOf(
  'over[- ]?quota|quota (?:is )?(?:exceeded|full|violation|reached|limit)',
  String.raw`(?:exceed\w*|over|out of|beyond|full|reached)[^.\n]{0,50}(?:quota|storage|mailbox size|disk space)`,
  String.raw`(?:mail ?box|inbox|mail ?drop|account|mailfolder|maildir|user)\S{0,3} (?:is |was |has )?` +
    '(?:full|over|exceeded)',
  'mail ?box (?:size |storage )?limit (?:is |was |has been )?(?:exceeded|reached)',
  'full (?:mail ?box|inbox)|insufficient (?:disk |system |storage |mailbox )*(?:space|storage|quota)',
  'no space left',
  'disk (?:quota|full|space)|delivery failed: over quota|mailbox.{0,30}(?:would exceed|exceeds)',
  String.raw`\bmailfull\b`,
  String.raw`(?:not|n't) (?:have )?enough (?:\S+ )?space|space (?:is )?not enough|has run out of|out of storage`,
  'file too large|size limit is',
  String.raw`(?:exhausted|exceed\w*|exceeded|over) (?:the |his |her |its |their |allowed |your |maximum )*` +
    '(?:allowed |storage |mailbox )(?:storage|size|space|allocation|limit)',
  'over-?quota|storage (?:is )?full|limit exe?c?eeded for this|too many (?:mails|messages) (?:on|in)',
)

export const MAILBOX_DISABLED = anyOf(
  String.raw`\b` +
    group(
      'disabled(?:user)?|suspended|deactivated|in-?activ(?:e|ated|ity)|locked|on hold|not (?:active|activated)',
      'dormant|(?:account|mailbox|user) (?:has |is )?expired|expired (?:account|mailbox)',
      'temporarily (?:closed|unavailable|limited)|discontinued|out of service',
      'not (?:currently |been )?(?:being )?(?:accepted for this|collected)|is restricted',
    ) +
    String.raw`\b`,
)

export const MOVED = anyOf(
  String.raw`${ADDRESSEE}\b[^.\n]{0,60}\b` +
    '(?:has moved|moved to|(?:has )?changed (?:his|her|their|its|to)|has (?:a )?new address)',
  String.raw`\bhas moved; please try|no longer (?:on server|at this|works|with|uses|here)`,
  'address (?:has )?(?:been )?(?:changed|replaced)',
)

export const NO_MAIL_ACCEPTED = anyOf(
  String.raw`(?:host|domain|server|address)[^.\n]{0,40}(?:does not|doesn't|do not|never) accept (?:any )?` +
    '(?:e-?)?mails?',
  String.raw`\bnull ?mx\b|no mail (?:service|exchanger) (?:is )?(?:here|accepted)`,
  'destination seem to reject all mails',
  'not accept(?:ing)? any (?:mail|message)|indicated no smtp service|no smtp service here',
)

export const NO_SUCH_DOMAIN = anyOf(
  String.raw`\b(?:unknown|no such|non-?existent|illegal|invalid|unrout(?:e)?able)(?: mail)? ` +
    String.raw`(?:host|domain|hostname|domain name)\b`,
  String.raw`\bhost (?:or domain name )?(?:is )?(?:unknown|not found)`,
  String.raw`\b(?:domain|host|hostname)(?: name)?\b(?:\s+\S{0,99}[^\s.:;!?,]){0,6}?[\s:]*` +
    String.raw`(?:${NEGATION} (?:exist|valid|found|be found|resolve)|unknown|not found|has no)`,
  // Outlook's wording for a domain that does not exist; "host not reachable" is a network failure
  String.raw`\bdomain is not reachable`,
  "couldn'?t find any host|unrout(?:e)?able address|no such (?:dns )?(?:record|domain)|name or service not known",
  String.raw`illegal host\/domain|account or domain may not exist|bad destination (?:system|host)`,
  'mx records point to non-?existent',
  "non-?existent ?domain|couldn['’]?t find a mail exchanger|all host address lookups failed permanently",
  String.raw`no (?:valid |usable )?mx (?:hosts?|records?|found)\b`,
  '(?:tenant or |recipient )?domain (?:was )?not found',
)

export const NO_SUCH_USER = anyOf(
  String.raw`\b` +
    '(?:unknown|no such|non-?existent|invalid|illegal|bad|no|wrong|undefined|not a (?:valid|known|local))' +
    group(' or illegal| local| virtual| e-?mail| destination| recipient| target| receiver| final| delivery| user') +
    String.raw`{0,2} (?:${ADDRESSEE}|person|id|e-?mail|mailbox address)\b`,
  // gateways to mobile phones
  'no valid recipients for this (?:mm|multimedia)',
  // the words in between must not cross the end of a sentence
  String.raw`\b${ADDRESSEE}\b[^\s\w]{0,6}(?:\s+\S{0,99}[^\s.:;!?,]){0,6}?[\s:]*(?<!\w)${DOES_NOT_EXIST}`,
  String.raw`@[\w.-]{1,99}[^\s\w]{0,6}\s*(?:(?:user|recipient|address|mailbox) )?${DOES_NOT_EXIST}`,
  String.raw`no (?:mail ?box|user|account|person|one|recipient)[^.\n]{0,20} (?:here|by|with|at) (?:that|this|by)`,
  String.raw`there is no (?:\S+ )?(?:user|account|mailbox|one)`,
  String.raw`(?:requested action not taken: |550 (?:5\.\d\.\d )?)mailbox (?:is )?(?:unavailable|not available)`,
  String.raw`not (?:our|an?) (?:\S+ )?(?:customer|user|users|subscriber|recipient)\b`,
  'delivery not authorized, message refused: unknown',
  "(?:could not|couldn't|can(?:no|')t|unable to) (?:be )?(?:found?|find|resolve|locate) " +
    String.raw`(?:\S+ ){0,2}${ADDRESSEE}`,
  String.raw`(?:doesn['’]t|does not|do not) have an? (?:\S+ )?account`,
  String.raw`no (?:such )?(?:\S+ )?(?:account|user) (?:here )?by that name`,
  'not (?:present|found) in (?:the |our )?(?:directory|ldap|database)|handle mail for (?:that|this) user',
  String.raw`\b5\.1\.0 address rejected`,
  String.raw`recipients? (?:cannot|can't|could not) be verified|recip(?:ient)?notfound|\bnosuchuser\b`,
  String.raw`\bno_such_user\b`,
)
