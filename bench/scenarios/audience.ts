/** Creates an audience of numbered contacts by an import. The sink recognizes them by the number in their address. */
import { Readable } from 'node:stream'
import { UserError } from '#bin/supervisor/user-error.ts'
import { NUMBER_DIGITS } from '#bench/mails/sample-mail.ts'
import type { AdminAccess } from '#bench/harness/mailstead.ts'
import { call } from '#bench/harness/api-call.ts'
import { waitForImport } from './import.ts'

const PART_ROWS = 1000
const DOMAINS = 5000

/** Returns the id of a new audience with `count` contacts, numbered from `from` on. */
export async function importAudience(admin: AdminAccess, from: number, count: number): Promise<string> {
  const audience = await call<{ id: string }>(
    admin,
    'POST',
    '/audiences/add-audience',
    JSON.stringify({ name: `of ${count}` }),
  )
  const file = Readable.from(rowsOf(from, count))
  const { id } = await call<{ id: string }>(admin, 'POST', `/contacts/import?audienceId=${audience.id}`, file)
  const { status, reason, rows } = await waitForImport(admin, id)
  if (rows['added'] !== count) throw UserError.of(`the import is ${status} (${reason}): ${JSON.stringify(rows)}`)
  return audience.id
}

function* rowsOf(from: number, count: number): Generator<Buffer> {
  yield Buffer.from('email,first_name,last_name,company,attribute:plan\n')
  for (let at = from; at < from + count; at += PART_ROWS) {
    const numbers = Array.from({ length: Math.min(PART_ROWS, from + count - at) }, (_, i) => at + i)
    yield Buffer.from(
      numbers
        .map(
          (n) =>
            `m${String(n).padStart(NUMBER_DIGITS, '0')}@mail${n % DOMAINS}.example,First${n},Last${n},` +
            `Company ${n % 1000},pro\n`,
        )
        .join(''),
    )
  }
}
