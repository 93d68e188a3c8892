/** A command without arguments: wrong use is refused, because an option that has no effect misleads. */

/** The exit code if there are arguments, whose usage is printed; else null. */
export function refuseArguments(command: string, args: readonly string[]): number | null {
  const [first] = args
  if (first === undefined) return null
  const usage = `Usage: mailstead ${command}   (settings come from the environment: docs/reference/settings.md)\n`
  if (first === '--help' || first === '-h') {
    process.stdout.write(usage)
    return 0
  }
  process.stderr.write(`mailstead ${command}: ${JSON.stringify(first)} is one argument too many\n${usage}`)
  return 2
}
