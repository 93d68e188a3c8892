/** Types for the parts of MJML in use; its packages ship none. */
declare module 'mjml-core' {
  interface Options {
    readonly presets: readonly unknown[]
    readonly keepComments: boolean
    readonly validationLevel: 'soft'
    readonly ignoreIncludes: boolean
    readonly fonts: Readonly<Record<string, string>>
  }
  interface Result {
    readonly html: string
    readonly errors: readonly { readonly line: number; readonly message: string }[]
  }
  const core: { readonly default: (mjml: string, options: Options) => Promise<Result> }
  export default core
}

declare module 'mjml-preset-core' {
  const preset: { readonly components: readonly { readonly componentName: string; readonly endingTag?: boolean }[] }
  export default preset
}
