/** `mailstead settings`: prints every setting by group. The page docs/reference/settings.md is this output. */
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandIo } from '#bin/cli/call.ts'
import { type Setting, SETTING_GROUPS } from '#config/schema.ts'
import { code, markdownTable } from '#src/platform/markdown-table.ts'

const PAGE_HEAD = `# Settings

Mailstead reads its settings from environment variables. All are optional. To read a value from a file, such as a
mounted secret, set \`NAME_FILE\` to the path of the file. If a value is invalid, Mailstead does not start and lists
every invalid setting.

\`bin/mailstead settings\` prints this page; with \`--json\` it prints the same table for programs.
`

const ACTION: CliAction = {
  summary: 'print all settings with their defaults',
  examples: ['', '--json'],
  usage: '',
  run: (call) => Promise.resolve(call.respond(settingsPage().trimEnd(), settingsJson())),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('settings', ACTION, args, io)
}

/** The reference page, in Markdown. */
export function settingsPage(): string {
  const sections = SETTING_GROUPS.map(({ title, settings }) => {
    const rows = Object.values(settings).map((row) => [code(row.env), describeDefault(row), formatDescription(row)])
    return `\n## ${title}\n\n${markdownTable(['Setting', 'Default', 'Description'], rows)}\n`
  })
  return PAGE_HEAD + sections.join('')
}

/** `reason` has the text of `description`: scripts written for earlier releases read it. */
function settingsJson(): unknown {
  return SETTING_GROUPS.flatMap(({ title, settings }) =>
    Object.values(settings).map(({ env, default: value, unit = null, description }) => ({
      name: env,
      group: title,
      default: value,
      unit,
      description,
      reason: description,
    })),
  )
}

function describeDefault({ default: value, unit }: Setting<unknown>): string {
  if (value === null || value === '') return ''
  return unit === undefined ? code(value) : `${code(value)} ${unit}`
}

/** The link is relative to docs/reference. */
function formatDescription({ description, guide }: Setting<unknown>): string {
  if (guide === undefined) return description
  return `${description} See [${guide.replaceAll('-', ' ')}](../guides/${guide}.md).`
}
