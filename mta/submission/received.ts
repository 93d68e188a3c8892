/**
 * The Received field that submission adds at the top (RFC 5321 4.4): the client, the protocol (RFC 3848, RFC 6531 4.3),
 * and the message id.
 */
import { isIPv6 } from 'node:net'
import type { SMTPServerSession } from 'smtp-server'
import type { Receipt } from '#src/submission/prepare.ts'

export function receivedField(session: SMTPServerSession, { by, id, at }: Receipt): string {
  const { hostNameAppearsAs, remoteAddress, transmissionType, envelope } = session
  const helo = hostNameAppearsAs.replaceAll(/[^!-'*-~]/g, '?').slice(0, 255)
  const address = isIPv6(remoteAddress) ? `IPv6:${remoteAddress}` : remoteAddress
  const isUtf8 = envelope.mailFrom !== false && envelope.mailFrom.args !== false && 'SMTPUTF8' in envelope.mailFrom.args
  const how = isUtf8 ? transmissionType.replace(/^E?SMTP/, 'UTF8SMTP') : transmissionType
  const date = at.toUTCString().replace('GMT', '+0000')
  return `Received: from ${helo} ([${address}])\r\n\tby ${by} with ${how} id ${id};\r\n\t${date}\r\n`
}
