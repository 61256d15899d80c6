// Draws at most once per animation frame, however often something changes.
export class Redraw {
  private frame = 0;

  constructor(private readonly draw: () => void) {}

  request(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  cancel(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }
}
