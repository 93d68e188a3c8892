/**
 * English texts that mail servers use for a failure, in order of precedence. Each pattern has a class and says whether
 * a match is a hard bounce. If a text matches several patterns, the soft classes come first: a filter, a quota, a
 * policy or a network failure never suppresses an address. The long patterns are in failure-patterns-recipient.ts and
 * failure-patterns-sender.ts. Used by failure-text.ts.
 */
import {
  MAILBOX_DISABLED,
  MAILBOX_FULL,
  MOVED,
  NO_MAIL_ACCEPTED,
  NO_SUCH_DOMAIN,
  NO_SUCH_USER,
  RECIPIENT_FILTER,
} from './failure-patterns-recipient.ts'
import {
  AUTHENTICATION,
  BLOCKED,
  MESSAGE_REFUSED,
  NO_REVERSE_DNS,
  POLICY,
  RELAY_DENIED,
  SENDER_REFUSED,
  SPAM,
  THROTTLED,
  TOO_LARGE,
} from './failure-patterns-sender.ts'
import { anyOf } from './text-patterns.ts'

/** The SMTP command that the server rejected. */
export type RejectedCommand = 'connect' | 'mail' | 'rcpt' | 'data'

export interface FailureClassification {
  readonly class: string
  /** The address or its domain will never accept mail. */
  readonly isHard: boolean
  /** The wording of one server, which never uses it for another failure. */
  readonly isConclusive?: boolean
}

export interface FailurePattern extends FailureClassification {
  readonly pattern: RegExp
  /** Set: the pattern applies only to a reply to this command. */
  readonly command?: RejectedCommand
}

const soft = (name: string, pattern: RegExp): FailurePattern => ({ class: name, isHard: false, pattern })
const hard = (name: string, pattern: RegExp): FailurePattern => ({ class: name, isHard: true, pattern })

/** The first match wins. */
export const FAILURE_PATTERNS: readonly FailurePattern[] = [
  // Microsoft's directory-based edge blocking rejects an unknown address without saying so
  hard('no-such-user', /\b5\.4\.1\b.{0,200}recipient\s+address(?:es)?\s+rejected\s*:\s+access\s+denied/is),
  // mail.ru, which validates recipients only after the message data
  { ...hard('no-such-user', /message was not accepted -- invalid mailbox/i), isConclusive: true },
  // OpenSMTPD's reply code for a user or list member that it does not have; no other server uses 524
  { ...hard('no-such-user', /\b524[ -]5\.2\.4 mailing list expansion problem/i), isConclusive: true },
  // X.2.1: the mailbox exists and accepts no mail (RFC 3463 3.3)
  soft('mailbox-disabled', /\b[45]\.2\.[01]\b.{0,60}mailbox (?:is )?(?:not available|unavailable)/i),
  soft('recipient-filter', RECIPIENT_FILTER),
  // RFC 6531 3.7.4.2
  soft('no-smtputf8', /\bsmtputf8\b|internationali[sz]ed (?:e-?mail )?address|\b[45]\.6\.[79]\b/i),
  hard('bad-address', /bad (?:recipient|destination|mailbox) address syntax/i),
  soft('virus', /\b(?:virus|infected|malware|trojan|worm)\b/i),
  soft('authentication', AUTHENTICATION),
  soft('no-reverse-dns', NO_REVERSE_DNS),
  soft('relay-denied', RELAY_DENIED),
  soft('blocked', BLOCKED),
  soft('spam', SPAM),
  soft('greylisted', /gr[ae]y[- ]?list|^45\d 4\.7\.1 (?:please )?try again later\W*$|\bcome back in \d/i),
  soft('throttled', THROTTLED),
  soft('mailbox-full', MAILBOX_FULL),
  soft('expired', /\b(?:message|mail) (?:has )?expired\b|\bin the queue (?:for )?too long/i),
  soft('too-large', TOO_LARGE),
  soft('mailbox-disabled', MAILBOX_DISABLED),
  soft('sender-refused', SENDER_REFUSED),
  soft('message-refused', MESSAGE_REFUSED),
  soft('policy', POLICY),
  soft(
    'protocol',
    anyOf(
      'bad sequence',
      '(?:command|parameters?|syntax) (?:error|unrecogni[sz]ed|not (?:implemented|recogni[sz]ed|supported))',
      'syntax error|unsupported option|unrecogni[sz]ed (?:command|parameter)',
    ),
  ),
  soft(
    'system',
    anyOf(
      'unknown (?:mailer )?error|mailer error',
      '(?:unknown|undefined) (?:failure|problem|reason|response|delivery (?:mode|error))',
      String.raw`\b(?:can't|cannot|couldn['’]t|could not|unable to) ` +
        String.raw`(?:create|open|write|lock|switch|append|access)\b`,
      String.raw`i\/o error`,
      String.raw`input\/output error|local configuration error|temporarily (?:not|fail\w*)`,
    ),
  ),
  hard('moved', MOVED),
  hard('no-mail-accepted', NO_MAIL_ACCEPTED),
  // the name servers did not answer, which says nothing about the domain
  soft('network', /host not found[,:;]? (?:please )?try again|temporary (?:dns|name|lookup)|\bservfail\b/i),
  // Exim verifies recipients so; of a domain that it does not accept it says "relay not permitted"
  { ...hard('no-such-user', /\bunroute?able address\b/i), command: 'rcpt' },
  hard('no-such-domain', NO_SUCH_DOMAIN),
  hard('no-such-user', NO_SUCH_USER),
  soft('loop', /hop count|mail loop|routing loop|loops? back|too many hops|looping/i),
  soft('tls', /\bstarttls\b|not support tls|tls (?:required|negotiation|handshake|not)/i),
  soft(
    'expired',
    anyOf(
      'expired|(?:retry|delivery) time(?:out)?(?: has)? (?:been )?exceeded|too long|gi(?:ve|ven|ving) up',
      String.raw`(?:unable|failed) to deliver (?:\S+ ){0,4}(?:in|after|within) \d+|not delivered within`,
      'queue (?:lifetime|time)',
      'all hosts (?:have been )?fail',
    ),
  ),
  soft(
    'network',
    anyOf(
      'time[ds]?[- ]?out|connection (?:was )?(?:refused|reset|dropped|closed|lost|failed)|no route to host',
      'network (?:is )?(?:error|unreachable|down)|not respond',
      "(?:could not|couldn't|unable to|failed to|can't) (?:connect|contact|establish)|connect to",
      'dns (?:error|failure|query|lookup)|name ?server|name service|(?:host |un|not )reachable',
      String.raw`(?:server|service|host)[^.\n]{0,30}(?:unavailable|not available|down)|lost connection|socket error`,
      'did not accept our requests to connect',
    ),
  ),
  soft(
    'system',
    anyOf(
      'system (?:error|full|problem|config)|internal (?:server |system |software )?error',
      'local (?:configuration )?error',
      String.raw`(?:can't|cannot|could not) (?:create|write|open|lock)|i\/o error|config(?:uration)? (?:error|problem)`,
      'temporar(?:y|ily)|try (?:again )?later|service (?:currently )?(?:unavailable|not available)',
    ),
  ),
]
