/** `mailstead migrate`: migrates the database to this version. Idempotent; concurrent runs wait for each other. */
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandIo } from '#bin/cli/call.ts'
import { explainDatabase, withDatabase } from '#bin/cli/context.ts'
import { loadConfig } from '#config/load.ts'
import { migrate, type MigrateResult } from '#src/stores/migrate.ts'
import { listMigrations } from '#src/stores/migrations.ts'

const ACTION: CliAction = {
  summary: 'migrate the database to this version',
  examples: [''],
  usage: '',
  run: (call) =>
    withDatabase(loadConfig(call.io.env), call.io, async (databaseUrl) => {
      let waiting: MigrateResult['waiting'] = []
      try {
        ;({ waiting } = await migrate(databaseUrl, { say: (line) => call.io.err(`${line}\n`) }))
      } catch (error) {
        throw explainDatabase(error, databaseUrl)
      }
      const migrations = listMigrations()
      return call.respond(
        [
          `The database is at ${migrations.at(-1)?.replace(/\.ts$/, '') ?? 'no version'}.`,
          ...waiting.map(describeWaiting),
        ].join('\n'),
        {
          migrations,
          waiting,
        },
      )
    }),
}

function describeWaiting({ migration, versions }: MigrateResult['waiting'][number]): string {
  return `${migration} waits for the end of processes of ${versions.join(', ')}. See mailstead upgrade --plan.`
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('migrate', ACTION, args, io)
}
