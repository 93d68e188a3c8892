/** Valid requests for the routes of inbound mail, and the objects that they name. */
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { MakeSample } from './request-samples.ts'
import { textOf, type Json, type TestApi } from './api.ts'

const ofRoute: MakeSample = ({ inboundRoute }) => ({ params: { id: inboundRoute } })
const ofEmail: MakeSample = ({ receivedEmail }) => ({ params: { id: receivedEmail } })

export const INBOUND_SAMPLES: Readonly<Record<string, readonly MakeSample[]>> = {
  'create-inbound-route': [({ sender }) => ({ body: { address: `*@${sender.slice(sender.indexOf('@') + 1)}` } })],
  'get-inbound-route': [ofRoute],
  'update-inbound-route': [(own) => ({ ...ofRoute(own), body: { description: 'New' } })],
  'delete-inbound-route': [ofRoute],
  'resend-forward-confirmation': [(own) => ({ ...ofRoute(own), body: { address: 'anna@outside.example' } })],
  'list-received-emails': [({ inboundRoute }) => ({ query: { route_id: inboundRoute }, isFilter: true })],
  'get-received-email': [ofEmail],
  'get-received-email-source': [ofEmail],
  'replay-received-email': [ofEmail],
  'delete-received-email': [ofEmail],
}

interface InboundFields {
  readonly domain: string
  readonly workspaceId: string
  readonly marker: string
}

export interface InboundObjects {
  readonly inboundRoute: readonly string[]
  readonly receivedEmail: readonly string[]
}

/** A route, and an email that it received. */
export async function createInboundMail(
  api: TestApi,
  admin: (method: string, path: string, body?: unknown) => Promise<Json>,
  { domain, workspaceId, marker }: InboundFields,
): Promise<InboundObjects> {
  const fields = { address: `in-${marker}@${domain}`, action: 'store', description: marker }
  const created = await admin('POST', '/public/inbound/routes', fields)
  const [inboundRoute, receivedEmail] = [textOf(created['data']?.['id']), newId()]
  await api.db.query(`UPDATE inbound_routes SET forward_to = '{anna@outside.example}' WHERE id = $1`, [inboundRoute])
  await api.db.query(
    sql`
      INSERT INTO received_emails (
        id, workspace_id, route_id, action, recipient, mail_from, from_address, peer, helo, is_tls, size, raw, state,
        subject
      )
      VALUES ($1, $2, $3, 'store', $4, '', '', '192.0.2.1', $5, false, 8, $6, 'processed', $5)
    `,
    [receivedEmail, workspaceId, inboundRoute, fields.address, marker, Buffer.from(marker)],
  )
  return { inboundRoute: [inboundRoute], receivedEmail: [receivedEmail] }
}
