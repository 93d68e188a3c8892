/**
 * The Received field that submission adds at the top (RFC 5321 4.4): the client, the protocol (RFC 3848, RFC 6531 4.3),
 * and the message id.
 */
import { isIPv6 } from 'node:net'
import type { SmtpSession } from '#mta/smtp-server/session.ts'
import type { Receipt } from '#src/submission/prepare.ts'

type ReceivedFrom = Pick<SmtpSession, 'helo' | 'remoteAddress' | 'isExtended' | 'isLoggedIn' | 'mailFrom' | 'tls'>

export function receivedField(session: ReceivedFrom, { by, id, at }: Receipt): string {
  const { helo, remoteAddress } = session
  const name = helo.replaceAll(/[^!-'*-~]/g, '?').slice(0, 255)
  const address = isIPv6(remoteAddress) ? `IPv6:${remoteAddress}` : remoteAddress
  const date = at.toUTCString().replace('GMT', '+0000')
  return `Received: from ${name} ([${address}])\r\n\tby ${by} with ${protocolOf(session)} id ${id};\r\n\t${date}\r\n`
}

/** RFC 3848, RFC 6531 4.3 */
function protocolOf({ isExtended, isLoggedIn, mailFrom, tls }: ReceivedFrom): string {
  const name = mailFrom?.parameters.has('SMTPUTF8') === true ? 'UTF8SMTP' : isExtended ? 'ESMTP' : 'SMTP'
  return `${name}${tls === null ? '' : 'S'}${isLoggedIn ? 'A' : ''}`
}
