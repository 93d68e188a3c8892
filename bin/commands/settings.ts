/** `mailstead settings`: the page of all settings, printed from their table; docs/settings.md is this page. */
import { type Action, type Io, runAction } from '#bin/cli.ts'
import { type Setting, SETTINGS } from '#config/schema.ts'

const HEAD = `# Settings

Mailstead is set up by environment variables. All are optional. For each, \`NAME_FILE\` names a file that holds the value (for mounted
secrets). A value that cannot be read stops the start, with the name of every setting that is wrong.

This page is printed by \`bin/mailstead settings\`.

| Setting | Default | What it is for |
|---|---|---|
`

const ACTION: Action = {
  usage: '',
  run: (call) => {
    const json = rowsOf().map(({ env, default: value, unit, reason }) => ({
      name: env,
      default: value,
      unit: unit ?? null,
      reason,
    }))
    return Promise.resolve(call.answer(settingsPage().trimEnd(), json))
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('settings', ACTION, args, io)
}

/** Markdown. */
export function settingsPage(): string {
  return (
    HEAD +
    rowsOf()
      .map((row) => `| \`${row.env}\` | ${defaultOf(row)} | ${row.reason.replaceAll('|', '\\|')} |\n`)
      .join('')
  )
}

function rowsOf(): Setting<unknown>[] {
  return Object.values(SETTINGS) as Setting<unknown>[]
}

function defaultOf({ default: value, unit }: Setting<unknown>): string {
  if (value === null || value === '') return ''
  return unit === undefined ? `\`${value}\`` : `\`${value}\` ${unit}`
}
