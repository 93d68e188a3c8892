/** `mailstead migrate`: brings the database to this version. Running it again changes nothing; several at once wait for each other. */
import { type Action, type Io, runAction } from '#bin/cli/actions.ts'
import { explainDatabase, withDatabase } from '#bin/cli/context.ts'
import { loadConfig } from '#config/load.ts'
import { migrate } from '#src/stores/migrate.ts'
import { listMigrations } from '#src/stores/migrations.ts'

const ACTION: Action = {
  usage: '',
  run: (call) =>
    withDatabase(loadConfig(call.io.env), call.io, async (databaseUrl) => {
      try {
        await migrate(databaseUrl)
      } catch (error) {
        throw explainDatabase(error, databaseUrl)
      }
      const migrations = listMigrations()
      return call.answer(`The database is at ${migrations.at(-1)?.replace(/\.ts$/, '') ?? 'no version'}.`, {
        migrations,
      })
    }),
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('migrate', ACTION, args, io)
}
