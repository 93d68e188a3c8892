/** What a check of a DNS record may find, by code. The sentence in the API begins with the name of the record. */
import { textsOf } from '#src/platform/coded-text.ts'

export const RECORD_TEXTS = {
  dkim_published: 'the DKIM key is published',
  txt_missing: 'there is no TXT record',
  dkim_not_a_key: 'there is a TXT record, but it is not a DKIM key',
  dkim_several: 'there are {count} DKIM records at this name: keep only this one',
  quoted: 'the value contains quotation marks: enter it without them',
  dkim_version: 'the value has v={found} instead of v=DKIM1',
  dkim_key_type: 'the value has k={found} instead of k={expected}',
  dkim_hash: 'the value has h={found}, which does not allow sha256',
  dkim_service: 'the value has s={found}, which does not allow mail',
  dkim_revoked: 'its key (p=) is empty, which means revoked',
  dkim_other_key: 'it contains a different key',
  dkim_cut:
    'its key is cut off after {length} of {expected} characters: enter the value as several strings of at most 255 ' +
    'characters',
  dkim_not_published_by_operator:
    'the CNAME record is published, but the operator of this service has not published the key ({problem})',
  record_elsewhere: 'the record is at {found}: enter its name as {short}; your provider appends the domain',
  hidden_by_cname: 'a CNAME to {target} hides all other records of this name: remove it',
  cname_published: 'the CNAME record is published',
  cname_missing: 'there is no CNAME record',
  cname_elsewhere: 'the CNAME points to {found}: it must point to {expected}',
  cname_is_address: 'the name has an address record: it must be a CNAME to {expected}, not proxied',
  mx_published: 'the MX record is published',
  mx_missing: 'there is no MX record',
  mx_elsewhere: 'the MX is {found}: it must be {expected} only, or bounces are lost',
  spf_authorises: 'SPF authorises this service, with {count} of {max} DNS lookups',
  spf_missing: 'there is no SPF record',
  spf_several: 'there are {count} SPF records, which makes all of them invalid (RFC 7208 4.5): merge them into one',
  spf_without_us: 'the SPF record does not authorise this service: add include:{include} to it, before "all"',
  spf_invalid: 'the SPF record is not valid: {term} is not a valid term',
  spf_included_invalid: 'the SPF record of {name} is not valid: {term} is not a valid term',
  spf_lookups:
    'the SPF record needs more than {max} DNS lookups, which makes it invalid (RFC 7208 4.6.4): remove some terms',
  spf_slow: 'the SPF record takes too long to evaluate',
  spf_loop: 'the SPF record includes itself through {name}: receivers reject it',
  spf_include_unread: 'the included record of {name} could not be read: {reason}',
  spf_include_without_record: 'it includes {name}, which has no SPF record',
  spf_include_of_operator: 'it includes {name}, which has no SPF record: the operator of this service must publish it',
  spf_include_several: 'it includes {name}, which has {count} SPF records',
  spf_include_of_operator_several:
    'it includes {name}, which has {count} SPF records: the operator of this service must publish it',
  spf_name_unread: 'a name in the SPF record could not be read: {reason}',
  spf_included_name_unread: 'a name in the SPF record of {name} could not be read: {reason}',
  spf_void_lookups: 'more than {max} names in the SPF record do not exist, which makes it invalid (RFC 7208 4.6.4)',
  dmarc_published: 'the DMARC record has the policy {policy}',
  dmarc_inherited: 'the DMARC policy of {domain} applies',
  dmarc_missing: 'there is no DMARC record',
  dmarc_several: 'there are {count} DMARC records, which counts as none (RFC 7489 6.6.3): keep one',
  dmarc_without_policy: 'the DMARC record has no policy: add p=none, or stricter',
  dmarc_policy: 'the DMARC record has {tag}={found}, which is not one of {policies}',
  dmarc_version: 'the DMARC record does not begin with v=DMARC1;',
  dns_timeout: 'no DNS server answered in time',
  dns_unreachable: 'no DNS server can be reached',
  dns_servfail: 'the DNS server failed (SERVFAIL)',
  dns_refused: 'the DNS server refused',
  dns_failed: 'DNS: {code}',
} as const

export const recordText = textsOf('record', RECORD_TEXTS)

/** The state of a domain after a check. */
export const DOMAIN_STATUS_TEXTS = {
  unchecked: 'Its DNS records have not been checked yet.',
  verified: '{domain} is verified.',
  verified_missing: '{domain} is verified, but its DKIM record was not found in the last check.',
  degraded: '{domain} has lost its DKIM record; it can send for 24 hours after the loss.',
  not_verified: '{domain} is not verified.',
  taken: 'Its records are correct, but another workspace has verified this domain.',
} as const

export const domainStatusText = textsOf('domain_status', DOMAIN_STATUS_TEXTS)

/** What would make a verified domain better. */
export const RECOMMENDATION_TEXTS = {
  mail_from:
    'Publish the MX and TXT records of {name} (MAIL FROM): then bounces return to your own name, and SPF passes for ' +
    'the domain in From, which receivers and DMARC reward.',
  dkim_cnames:
    'Publish all CNAME records of DKIM: without them the keys of the domain cannot be replaced automatically.',
  dmarc: 'Publish the DMARC record _dmarc.{domain}: large receivers require it of bulk senders.',
  dmarc_reports_nowhere:
    'Add rua=mailto:{address} to the record _dmarc.{domain}: it names no address for DMARC reports.',
  dmarc_reports_elsewhere:
    'Add mailto:{address} to rua in the record _dmarc.{domain}, after a comma: its DMARC reports go to {found} only, ' +
    'and are not shown here.',
  dmarc_reports_not_agreed:
    'Ask the operator of this service to publish {record} TXT "v=DMARC1": ' +
    'without it, receivers send no DMARC reports about this domain.',
} as const

export const recommendationText = textsOf('recommendation', RECOMMENDATION_TEXTS)
