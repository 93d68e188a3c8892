/** An SMTP dialog as stored with an attempt, line by line. */
import { z } from 'zod'

const SPEAKERS = { 'C: ': 'client', 'S: ': 'server', '-- ': 'note' } as const

const lineSchema = z
  .object({
    by: z.enum(['client', 'server', 'note']).meta({
      description: '`client`: this server, which sends; `server`: the receiver; `note`: a remark, such as TLS',
    }),
    text: z.string().meta({ description: 'the command, the reply or the remark' }),
  })
  .meta({ id: 'DialogLine' })

export const dialogSchema = z
  .array(lineSchema)
  .meta({ description: 'what both sides said, in its order; empty if no connection was made' })

type DialogLine = z.output<typeof lineSchema>

/** A line without a mark continues the line before it: replies may have several lines. */
export function dialogLines(conversation: string): DialogLine[] {
  const lines: DialogLine[] = []
  for (const line of conversation.split('\n').filter((one) => one !== '')) {
    const speaker = Object.entries(SPEAKERS).find(([mark]) => line.startsWith(mark))
    const last = lines.at(-1)
    if (speaker !== undefined) lines.push({ by: speaker[1], text: line.slice(speaker[0].length) })
    else if (last === undefined) lines.push({ by: 'note', text: line })
    else lines[lines.length - 1] = { by: last.by, text: `${last.text}\n${line}` }
  }
  return lines
}
