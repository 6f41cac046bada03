// A fault of the page itself: said in words instead of leaving it blank.
import { Component } from "react";

export class ErrorBoundary extends Component {
  state = { error: null };

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { error } = this.state;
    return error === null ? this.props.children : this.props.show(error);
  }
}
