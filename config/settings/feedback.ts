/** Complaint feedback loops: the operator's own DKIM signature, Feedback-ID, and who may report a complaint. */
import { dnsLabel, dnsName, dnsNamesOrNone, feedbackSender, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const feedbackSettings = {
  operatorDkimDomain: optional({
    env: 'OPERATOR_DKIM_DOMAIN',
    read: dnsName,
    description:
      'Domain (d=) of a further DKIM signature on all mail of sending domains, for feedback loops that are ' +
      'registered for a DKIM domain. It also seals forwarded mail (ARC). Needs `OPERATOR_DKIM_KEY`.',
    guide: 'feedback-loops',
  }),
  operatorDkimSelector: setting({
    env: 'OPERATOR_DKIM_SELECTOR',
    read: dnsLabel,
    default: 'mailstead',
    description: 'Selector (s=) of that signature.',
    guide: 'feedback-loops',
  }),
  operatorDkimKey: optional({
    env: 'OPERATOR_DKIM_KEY',
    read: text,
    description: 'Private key of that signature: RSA of at least 1024 bits, in PEM. Usually `OPERATOR_DKIM_KEY_FILE`.',
    guide: 'feedback-loops',
  }),
  feedbackSenderId: optional({
    env: 'FEEDBACK_SENDER_ID',
    read: feedbackSender,
    description:
      'Your name at the end of the field `Feedback-ID`, which Gmail evaluates. If it is not set, no field is added.',
    guide: 'feedback-loops',
  }),
  complaintSenders: setting({
    env: 'COMPLAINT_SENDERS',
    read: dnsNamesOrNone,
    default:
      'yahoo.com,yahooinc.com,aol.com,comcast.net,mail.ru,fastmail.com,orange.fr,laposte.net,libero.it,seznam.cz,' +
      'hotmail.com,microsoft.com,validity.com,senderscore.net,returnpath.net,abusix.com',
    description:
      'Domains that may report a complaint by the Message-ID alone, if DKIM or SPF of the report passes for them. ' +
      'The domain of the recipient, or of its MX host, always may. `none` for no others.',
    guide: 'feedback-loops',
  }),
}
