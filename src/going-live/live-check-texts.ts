/** What the checks of a live installation find, and what to do about it, by code. */
import { textsOf } from '#src/platform/coded-text.ts'

export const LIVE_CHECK_TEXTS = {
  relayed: 'ROUTES sends all mail to another server',
  has_sources: 'mail leaves from egress sources, which have checks of their own',
  blocklists_none: 'BLOCKLISTS is none',

  no_address: '{name} has no address record',
  no_address_todo: 'add an A or AAAA record for {name}',
  address_unknown: 'the address of this server is not known',
  no_target: 'EGRESS_CHECK_TARGET is none',
  no_mail_server: 'DNS does not return a mail server of {target}',
  port_open: 'port {port} of {target} ({address}) can be reached',
  port_closed: 'port {port} of {target} ({address}) cannot be reached',
  port_todo:
    'many hosting providers block outgoing port 25: ask yours to open it, or use a relay (ROUTES=*=smtp://relay:25)',

  urls: '{urls}',
  url_unreachable: '{setting} is {url}, which no reader of a mail can reach',
  url_plain: '{setting} is {url}, which is not https',
  urls_todo: 'set {settings} to a host name that reaches the API',

  mx_missing: '{name} has no MX record: bounces do not come back',
  mx: '{name} has the MX {hosts}',
  mx_elsewhere_leads_here: '{name} has the MX {hosts}, which leads here',
  mx_elsewhere: 'the MX of {name} is {hosts}, not {server}',
  mx_todo: 'publish {name} MX 10 {server}',
  mx_elsewhere_todo: 'publish {name} MX 10 {server}, or forward its mail',
  spf_todo: 'publish {name} TXT "v=spf1 a:{server} -all"',
  dmarc_wrong_todo: 'correct the TXT record of {name}',
  dmarc_missing: '{name} has no DMARC record: others can send as its names, and large receivers expect one',
  dmarc_todo: 'publish _dmarc.{name} TXT "v=DMARC1; p=none", and a stricter policy later',
  reports_unknown: '{name}: DNS did not answer',
  reports_agreed: '{name}: receivers may send DMARC reports about the domains of customers',
  reports_missing: '{name} has no DMARC record: receivers send no reports about the domains of customers to {domain}',
  reports_todo: 'publish {name} TXT "v=DMARC1"',

  no_https: 'no URL has https',
  url_no_address_todo: 'add an A or AAAA record for {name}, the host of {url}',
  url_silent: '{host} ({address}) does not answer from here: {reason}',
  url_refuses: '{host} ({address}) refuses connections from here',
  url_refuses_todo: 'if it also refuses from outside, run a proxy with a certificate for {name} in front of the API',
  certificate_not_accepted: 'the certificate of {host} is not accepted: {problem}',
  certificate_not_accepted_todo: 'install a certificate for {name} from an authority that browsers accept',
  certificate_expired: 'the certificate of {name} expired {days|day|days} ago',
  certificate_valid: 'the certificate of {name} is valid until {date}',
  certificate_ends: 'the certificate of {name} is valid until {date}, in {days|day|days}',
  certificate_todo: 'renew the certificate, and check what renews it',
  certificate_requested: 'there is no certificate for {name} yet: it is requested',
  certificate_missing: 'there is no certificate for {name} yet: {reason}',
  certificate_missing_todo: 'wait a minute; if it stays so, mailstead certificate list gives the reason',
  smtp_self_signed: 'SMTP has a self-signed certificate: programs that check it refuse it',
  smtp_meanwhile: 'SMTP has a self-signed one meanwhile',
  smtp_other_name: 'the certificate of SMTP is for {names}, not {name}',
  smtp_todo: 'set TLS_CERT_FILE and TLS_KEY_FILE to a certificate for {name}, or ACME_CHALLENGE',
  renewal_failed: 'its renewal failed and is repeated: {reason}',
} as const

export const liveCheckText = textsOf('live_check', LIVE_CHECK_TEXTS)
