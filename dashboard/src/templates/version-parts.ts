/** The parts of a template that differ between two versions, as texts. */
interface Version {
  readonly name: string
  readonly subject: string
  readonly body: string
  readonly text: string | null
  readonly sample_data: Readonly<Record<string, unknown>> | null
  readonly partials: readonly { readonly name: string; readonly version: number }[]
}

const PARTS = {
  name: (version: Version) => version.name,
  subject: (version: Version) => version.subject,
  body: (version: Version) => version.body,
  text: (version: Version) => version.text ?? '',
  sampleData: ({ sample_data: data }: Version) => (data === null ? '' : JSON.stringify(data, null, 2)),
  partials: (version: Version) => version.partials.map(({ name, version: number }) => `${name} ${number}`).join('\n'),
}

export interface ChangedPart {
  readonly name: keyof typeof PARTS
  readonly before: string
  readonly after: string
}

export function changedParts(before: Version, after: Version): readonly ChangedPart[] {
  const names = Object.keys(PARTS) as (keyof typeof PARTS)[]
  return names
    .map((name) => ({ name, before: PARTS[name](before), after: PARTS[name](after) }))
    .filter((part) => part.before !== part.after)
}
