import { existsSync } from 'node:fs'
import { assert } from 'chai'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { runCommand, type CommandMain } from '#test/support/command.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import { COMMANDS } from './command-list.ts'

const WIDTH = 100

async function readUsage({ name, usage }: (typeof COMMANDS)[number]): Promise<string> {
  if (usage !== undefined) return `mailstead ${name} ${usage}`.trim()
  const { run } = (await import(`./commands/${name}.ts`)) as { run: CommandMain }
  const { code: exitCode, out } = await runCommand(run, ['--help'])
  assert.strictEqual(exitCode, 0, name)
  return out
    .replace('Usage: ', '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(wrap)
    .join('\n')
}

/** Breaks a long line before an option. */
function wrap(line: string): string {
  const [first = '', ...options] = line.split(/ (?=\[|--)/)
  const lines = [first]
  for (const option of options) {
    const last = lines.at(-1) ?? ''
    if (last.length + option.length < WIDTH) lines[lines.length - 1] = `${last} ${option}`
    else lines.push(`    ${option}`)
  }
  return lines.join('\n')
}

describe('the commands of mailstead', () => {
  it('have a module each', () => {
    for (const { name } of COMMANDS) assert.ok(existsSync(new URL(`commands/${name}.ts`, import.meta.url)), name)
  })

  it('are listed in docs/reference/cli.md', async function () {
    this.timeout(60_000)
    const rows = COMMANDS.map(({ name, summary }) => [code(name), summary])
    const usages: string[] = []
    for (const row of COMMANDS) usages.push(`### ${row.name}\n\n\`\`\`\n${await readUsage(row)}\n\`\`\``)
    checkSection('reference/cli.md', 'commands', markdownTable(['Command', 'Purpose'], rows))
    checkSection('reference/cli.md', 'usage', usages.join('\n\n'))
  })
})
