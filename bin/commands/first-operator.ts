/**
 * The link with which the first operator creates an account. Each `start` prints a new one while there is no operator,
 * and earlier ones end; afterwards none. It works once, for a day. Two starts at once: the link that is printed last
 * works. PostgreSQL fails meanwhile: the roles go on, and a line says how to make the link.
 */
import { pino } from 'pino'
import { commandActor } from '#bin/cli/context.ts'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import type { Config } from '#config/load.ts'
import { createFirstLink } from '#src/people/invitations.ts'
import { joinLink } from '#src/people/one-time-links.ts'
import { openDb } from '#src/stores/db.ts'

/** The lines to print; none if there is an operator. The operator becomes an owner of the workspace. */
export async function offerFirstAccount(
  config: Config & Pick<StoreUrls, 'databaseUrl'>,
  workspaceId: string,
): Promise<readonly string[]> {
  const db = openDb(config.databaseUrl, pino({ level: 'silent' }), 1).attributedTo(commandActor('start'))
  try {
    const token = await db.transaction((tx) => createFirstLink(tx, workspaceId))
    if (token === null) return []
    const about = 'Create the account of the first operator with this link, which works once, for a day:'
    return [about, `  ${joinLink(config, token)}`, '']
  } catch (error) {
    return [
      `The link for the account of the first operator was not made: ${(error as Error).message}.`,
      '  Make one: bin/mailstead user invite --email YOU@EXAMPLE.COM --operator',
      '',
    ]
  } finally {
    await db.close()
  }
}
