import { existsSync } from 'node:fs'
import { assert } from 'chai'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { runCommand, type CommandMain } from '#test/support/command.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import { COMMANDS } from './command-list.ts'

/** The parts of a help text: usage lines, what each action does, and examples. */
interface HelpText {
  readonly usage: readonly string[]
  readonly actions: readonly (readonly [name: string, summary: string])[]
  readonly examples: readonly string[]
}

async function readHelp(name: string, args: readonly string[] = []): Promise<HelpText> {
  const { run } = (await import(`./commands/${name}.ts`)) as { run: CommandMain }
  const { code: exitCode, out, err } = await runCommand(run, [...args, '--help'])
  assert.strictEqual(exitCode, 0, err)
  const [usage = '', ...sections] = out.split('\n\n')
  const find = (title: string): string[] =>
    sections
      .find((text) => text.startsWith(`${title}:\n`))
      ?.trimEnd()
      .split('\n')
      .slice(1) ?? []
  return {
    usage: usage
      .replace('Usage: ', '       ')
      .split('\n')
      .map((line) => line.slice('Usage: '.length)),
    actions: find('Actions').map((line) => {
      const [action = '', ...words] = line.trim().split(/ {2,}/)
      return [action, words.join(' ')] as const
    }),
    examples: find('Examples').map((line) => line.trim().replace(/^\$ /, '')),
  }
}

/** All actions of a command by their words; one without words if the command is its only action. */
async function listActions(name: string, words: readonly string[] = []): Promise<string[][]> {
  const { actions } = await readHelp(name, words)
  if (actions.length === 0) return [[...words]]
  const below = await Promise.all(actions.map(([action]) => listActions(name, [...words, action])))
  return below.flat()
}

async function describeCommand({ name, usage }: (typeof COMMANDS)[number]): Promise<string> {
  const block = (lines: readonly string[]): string => `\`\`\`\n${lines.join('\n')}\n\`\`\``
  if (usage !== undefined) return `### ${name}\n\n${block([`mailstead ${name} ${usage}`.trim()])}`
  const help = await readHelp(name)
  const actions = await listActions(name)
  const details = await Promise.all(actions.map((words) => readHelp(name, words)))
  const examplesText = block([...new Set(details.flatMap((one) => one.examples))])
  const rows = await Promise.all(
    actions
      .filter((words) => words.length > 0)
      .map(async (words) => [code(words.join(' ')), await summaryOf(name, words)]),
  )
  const table = rows.length === 0 ? '' : `${markdownTable(['Action', 'Purpose'], rows)}\n\n`
  return `### ${name}\n\n${block(help.usage)}\n\n${table}Examples:\n\n${examplesText}`
}

async function summaryOf(name: string, words: readonly string[]): Promise<string> {
  const { actions } = await readHelp(name, words.slice(0, -1))
  return actions.find(([action]) => action === words.at(-1))?.[1] ?? ''
}

describe('the commands of mailstead', () => {
  it('have a module each', () => {
    for (const { name } of COMMANDS) assert.ok(existsSync(new URL(`commands/${name}.ts`, import.meta.url)), name)
  })

  it('are listed in docs/reference/cli.md', async () => {
    const rows = COMMANDS.map(({ name, summary }) => [code(name), summary])
    const sections: string[] = []
    for (const row of COMMANDS) sections.push(await describeCommand(row))
    checkSection('reference/cli.md', 'commands', markdownTable(['Command', 'Purpose'], rows))
    checkSection('reference/cli.md', 'usage', sections.join('\n\n'))
  })

  it('have examples that their own parser accepts', async () => {
    for (const { name } of COMMANDS.filter((row) => row.usage === undefined)) {
      const { run } = (await import(`./commands/${name}.ts`)) as { run: CommandMain }
      for (const action of await listActions(name)) {
        const { examples } = await readHelp(name, action)
        assert.ok(examples.length > 0, `${name} ${action.join(' ')}`)
        for (const example of examples) {
          const words = splitWords(example).slice(2)
          assert.deepEqual(words.slice(0, action.length), action, example)
          // an option at the end that does not exist: the parser reads the others first
          const { code: exitCode, err } = await runCommand(run, [...words, '--no-such-option'])
          assert.strictEqual(exitCode, 2, example)
          assert.match(err, /unknown option --no-such-option/, example)
        }
      }
    }
  })
})

/** The words of a shell command, without redirections and comments. */
function splitWords(line: string): string[] {
  const [command = ''] = line.split(/ (?:[<>]|#) ?/)
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  )
}
